import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

/// The table of keys reads what it writes, as TOML and as the JSON of the cache.
@Suite struct DefinitionRoundTripTests {
  /// `make soak`: 10,000.
  private static let count = ProcessInfo.processInfo.environment["ROSTER_ROUND_TRIPS"].flatMap(Int.init) ?? 500

  @Test("Random definitions survive TOML, model, JSON, model and TOML")
  func random() throws {
    for seed in 0..<UInt64(Self.count) {
      var dice = SeededDice(seed: seed)
      let resource = Resource.random(&dice)
      let toml = resource.rendered(maxRemoval: 20)
      let read = try #require(try Self.read(toml, seed: seed))
      #expect(read == resource, "seed \(seed)\n\(toml)")
      let json = TOMLItem.table(read.definitionItems).json
      let stored = try #require(Resource(stored: json, name: resource.name), "seed \(seed)\n\(toml)")
      #expect(stored == resource, "seed \(seed)\n\(toml)")
      #expect(stored.rendered(maxRemoval: 20) == toml, "seed \(seed)")
    }
  }

  private static func read(_ toml: String, seed: UInt64) throws -> Resource? {
    let parent =
      "[resource.parent]\npath = \"/p\"\n[resource.parent.columns]\nid = { at = \"/id\", type = \"integer\" }\n"
    do throws(ConfigurationFaults) {
      let configuration = try Configuration.load(Array((toml + parent).utf8), of: "roster.toml")
      return configuration.resources.first { $0.name == "thing" }
    } catch {
      Issue.record("seed \(seed): \(error)\n\(toml)")
      return nil
    }
  }
}

extension SeededDice {
  fileprivate mutating func happens(_ share: Double = 0.5) -> Bool { Double.random(in: 0..<1, using: &self) < share }
  fileprivate mutating func one<Value>(of values: [Value]) -> Value {
    values[Int.random(in: 0..<values.count, using: &self)]
  }
}

extension Resource {
  /// A definition without conflicts, with any of its keys.
  fileprivate static func random(_ dice: inout SeededDice) -> Resource {
    let isPost = dice.happens(0.3)
    let isComposite = dice.happens(0.2)
    let hasByKey = dice.happens()
    let places = ["id", "part"].map { JSONPointer(segments: [$0]) }
    var resource = Resource(
      name: "thing",
      path: dice.one(of: ["/things", "/a%20b/things", "/v1/é"].filter { $0.utf8.allSatisfy { $0 < 128 } }),
      query: dice.happens()
        ? [Parameter("state", .text("all")), Parameter("n", .integer(100)), Parameter("x", .real(1.5))] : [],
      method: isPost ? .post : .get, records: dice.happens() ? JSONPointer(segments: ["data", "a/b~"]) : JSONPointer(),
      key: places[0], otherKeys: isComposite ? [places[1]] : [], table: dice.happens(0.3) ? "things" : nil,
      byKey: hasByKey
        ? (isComposite ? "/things/{key.id}/{key.part}" : dice.one(of: ["/things/{key}", "/things?ids={keys}"])) : nil,
      maxRemoval: dice.happens() ? Int.random(in: 0...100, using: &dice) : nil,
      auditEvery: dice.one(of: [nil, .seconds(86_400), .milliseconds(1500)]), columns: columns(isComposite, &dice))
    if isPost {
      resource.body = .object([.init("a", .list([.integer(1), .number("2.5"), .text("x"), .boolean(true)]))])
    }
    resource.pages = Pages.random(isPost: isPost, key: resource.key, &dice)
    if isComposite, resource.pages.style.kind == .after { resource.pages.style.at = .body(places[1]) }
    if dice.happens(0.3) { resource.listing.headers = [.init("Accept", "a/b"), .init("X-Site", "{today:date}")] }
    if !resource.query.isEmpty, dice.happens(0.3) {
      resource.query.insert(Parameter("state", .boolean(true)), at: 1)
      resource.listing.raw = ["state"]
    }
    if dice.happens(0.3) { resource.baseURL = "https://other.test/v2" }
    if hasByKey, dice.happens(0.3) {
      resource.keyQuestion?.method = .post
      resource.keyQuestion?.body = .object([.init("a", .integer(1)), .init("b", .list([.text("x")]))])
    }
    if hasByKey, dice.happens() { resource.byKeyRecords = JSONPointer(segments: ["data"]) }
    resource.removal = hasByKey ? dice.one(of: Removal.allCases) : dice.one(of: [.twice, .never])
    resource.fillRecords(&dice)
    resource.fillTables(&dice)
    return resource
  }

  private static func columns(_ isComposite: Bool, _ dice: inout SeededDice) -> [Column] {
    let key = Column("id", at: JSONPointer(segments: ["id"]), dice.one(of: [.integer, .text]))
    let part = Column(
      "part", at: JSONPointer(segments: ["part"]), dice.one(of: [.integer, .text]), isNullable: dice.happens(0.3))
    let others = ColumnType.allCases.map { type in
      Column(
        "c_\(type.rawValue)", at: JSONPointer(segments: [type.rawValue]), type,
        isNullable: type == .text && dice.happens(),
        nulls: dice.happens(0.2) ? [.text(""), .integer(0), .boolean(false)] : [])
    }
    return [key] + (isComposite ? [part] : []) + others.filter { _ in dice.happens() }
  }

  private mutating func fillRecords(_ dice: inout SeededDice) {
    shape = dice.one(of: Shape.allCases)
    if shape == .rows, dice.happens() { rowNames = JSONPointer(segments: ["names"]) }
    if dice.happens() {
      conditions = [
        Condition(JSONPointer(segments: ["a"]), .absent), Condition(JSONPointer(segments: ["b"]), .present),
        Condition(
          JSONPointer(segments: ["c"]), .equal(dice.one(of: [.text("x"), .integer(1), .real(0.5), .boolean(true)]))),
        Condition(JSONPointer(segments: ["d"]), .differs([.text("x"), .integer(2)])),
        Condition(JSONPointer(segments: ["e"]), .differs([.text("x")])),
      ].filter { _ in dice.happens() }
    }
    if dice.happens() { answers.expect = [Condition(JSONPointer(segments: ["ok"]), .equal(.boolean(true)))] }
    if dice.happens(0.3) { answers.partial = [JSONPointer(segments: ["errors"])] }
    answers.noRecords = .init(
      isAbsent: dice.happens(0.3), isNull: dice.happens(0.3), statuses: dice.happens(0.3) ? [404] : [])
    answers.isListOfOne = dice.happens(0.2)
    search = columns.contains { $0.name == "c_text" } && dice.happens() ? ["c_text"] : []
  }

  private mutating func fillTables(_ dice: inout SeededDice) {
    if dice.happens(0.4) {
      var list = List(
        table: "thing_tags", at: JSONPointer(segments: ["tags"]), columns: [Column("tag", at: JSONPointer())])
      list.columns.append(Column("n", at: JSONPointer(segments: ["n"]), .integer))
      list.isListOfOne = dice.happens()
      lists = [list]
    }
    if dice.happens(0.3) {
      let changed = dice.happens() ? ["id"] : []
      let whole: Each.Whole? =
        changed.isEmpty ? .every(.seconds(3600)) : dice.one(of: [nil, .never, .every(.seconds(90_000))])
      each = Each(of: "parent", changed: changed, wholeEvery: dice.happens() ? whole : nil)
      if dice.happens() { each?.empty = [[.init("id", .equal(.integer(1)))]] }
      if dice.happens(0.3) { each?.empty.append([.init("id", .differs([.integer(2)]))]) }
    }
    if dice.happens(0.4), !pages.style.kind.isRecord { since = Since.random(of: self, &dice) }
  }
}

extension Resource.Pages {
  fileprivate static func random(isPost: Bool, key: JSONPointer, _ dice: inout SeededDice) -> Self {
    let kind = dice.one(of: PageStyle.all.filter { !$0.isRecord })
    var style = Resource.Style(kind)
    if kind.ownKeys.contains("param") {
      style.param =
        isPost && dice.happens() ? .body(JSONPointer(segments: ["at"])) : .query(dice.one(of: ["page", "p[x]"]))
    }
    if kind.ownKeys.contains("first"), dice.happens() { style.first = Int.random(in: 0...9, using: &dice) }
    if kind.ownKeys.contains("start"), dice.happens() { style.start = "*" }
    if kind.ownKeys.contains("at") { style.at = .body(JSONPointer(segments: ["next"])) }
    if kind.neededKeys.contains("at"), dice.happens(0.3) { style.at = .header("X-Next") }
    if kind.neededKeys.contains("at"), dice.happens(0.2) {
      let condition = Resource.Condition(JSONPointer(segments: ["rel"]), .equal(.text("next")))
      style.at = .entry(
        .init(list: JSONPointer(segments: ["links"]), conditions: [condition], value: JSONPointer(segments: ["href"])))
    }
    if kind == .after, dice.happens() { style.at = .body(key) }
    if kind.ownKeys.contains("last"), dice.happens() {
      style.last = dice.one(of: [.body(JSONPointer(segments: ["last"])), .header("X-Pages")])
    }
    var pages = Self(style)
    if let placeholder = kind.placeholder, dice.happens(0.3) { pages.valueText = "(\(placeholder),50)" }
    if dice.happens() { pages.size = Resource.Size(50, param: dice.happens() ? .query("size") : nil) }
    if dice.happens(0.3) {
      pages.more = .body(JSONPointer(segments: ["more"]))
    } else if dice.happens(0.3) {
      pages.done = .header("X-Done")
    }
    pages.omitsFalse = pages.ending != nil && dice.happens()
    if dice.happens() { pages.count = dice.one(of: [.body(JSONPointer(segments: ["total"])), .header("X-Total")]) }
    pages.short = pages.size != nil && dice.happens()
    pages.beyond = dice.happens(0.3) ? [404, 416] : []
    pages.empty = dice.one(of: [.noSign, .end])
    pages.hidden = kind.isPositional && dice.happens(0.3)
    return pages
  }
}

extension Since {
  fileprivate static func random(of resource: Resource, _ dice: inout SeededDice) -> Since {
    var since = Since(listing: resource.listing)
    let isToken = dice.happens(0.3)
    if isToken {
      since.token = dice.one(of: [.body(JSONPointer(segments: ["token"])), .header("X-Token")])
    } else {
      since.at = JSONPointer(segments: ["updated"])
      since.form = dice.one(of: TimeForm.allCases)
      since.overlap = since.form == .number ? .number(7) : .time(.seconds(since.form == .compact ? 172_800 : 60))
      if dice.happens() { since.overlap = usualOverlap(since.form) }
      if since.form == .rfc3339 || since.form == .compact, dice.happens(0.3) {
        since.zone = LocalZone(offset: dice.one(of: [3600, -12_600]))
      }
      if dice.happens(0.3) { since.from = "2020" }
    }
    since.param = dice.one(of: [.query("since"), .header("X-Since"), .header("If-Modified-Since")])
    since.value = dice.happens(0.3) ? "x{since:http}" : usualValue(since.param)
    if isToken { since.value = dice.happens() ? "x{since}" : "{since}" }
    if since.at != nil, since.form != .number, dice.happens(0.2) { (since.at, since.isDated) = (nil, true) }
    if since.form == .number { since.value = "{since}" }
    if resource.removal == .never, dice.happens() {
      since.wholeEvery = nil
    } else if dice.happens() {
      since.wholeEvery = .seconds(120)
    }
    if dice.happens(0.3) { since.listing.path = "/changes" }
    if dice.happens(0.3) { since.listing.query = [.init("changed", .boolean(true))] }
    if dice.happens(0.3) { since.listing.records = JSONPointer(segments: ["changed"]) }
    if dice.happens(0.3) { since.listing.pages = Resource.Pages.random(isPost: false, key: resource.key, &dice) }
    if resource.byKey != nil, dice.happens(0.3) {
      since.asks = true
      if !resource.hasCompositeKey { since.listing.key = JSONPointer(segments: ["changed_id"]) }
    }
    return since
  }
}
