import FoundationEssentials
import RosterCore
import RosterSync
import RosterTestSupport
import Synchronization

/// Shops, their items, and the parts of each item. A record is known by its keys and those of its ancestors.
final class ErringUpstream: Sendable, CustomStringConvertible {
  enum KeyKind: CaseIterable { case integer, text, composite }

  /// What an incremental pull starts from.
  enum Start: CaseIterable { case number, unix, rfc3339, token }

  /// The sign by which the lists of a resource end: the usual one of the style, `more`, or `count`.
  enum End: CaseIterable { case usual, more, count }

  /// The answer for a page that another answer promises.
  enum BrokenPromise: CaseIterable { case refused, empty }

  /// How `by_key` answers.
  enum ByKey: CaseIterable { case right, limited, notFound, noContent, object, another, serverError }

  /// The shape of the API.
  struct Plan: Sendable {
    let kinds: [KeyKind]
    let styles: [Resource.Style]
    let ends: [End]
    let removals: [Resource.Removal]
    let asksMany: Bool
    /// nil if each pull is whole.
    let start: Start?
    let hasAsk: Bool
    /// Seconds by which the clock of upstream is wrong.
    let skew: Int
    let isChanged: Bool
    let depth: Int
    /// True if some answers call themselves partial, with a part of their records or none.
    let isPartialAtTimes: Bool
    /// True if an empty list is left out of its answer. At times the first answer of a list with records lacks it too.
    let omitsEmptyLists: Bool
    /// True if pages are cut by keys, so that pages in the middle are empty.
    let scans: Bool
    /// True if no total is above the size of a page.
    let capsTotals: Bool
    /// True if a page beyond the end is refused with 404.
    let refusesBeyond: Bool

    init(_ dice: inout SeededDice) {
      let last = KeyKind.allCases.randomElement(using: &dice) ?? .integer
      kinds = [[.integer, .text].randomElement(using: &dice) ?? .integer, .integer, last]
      styles = (0..<3).map { _ in Self.styles.randomElement(using: &dice) ?? .one }
      ends = (0..<3).map { _ in End.allCases.randomElement(using: &dice) ?? .usual }
      removals = (0..<3).map { _ in Int.random(in: 0..<5, using: &dice) == 0 ? .twice : .ask }
      asksMany = Bool.random(using: &dice)
      start = Bool.random(using: &dice) ? Start.allCases.randomElement(using: &dice) : nil
      hasAsk = start != nil && Bool.random(using: &dice)
      skew = Bool.random(using: &dice) ? 0 : Int.random(in: -3000...3000, using: &dice)
      isChanged = Bool.random(using: &dice)
      depth = 3
      isPartialAtTimes = Int.random(in: 0..<3, using: &dice) == 0
      omitsEmptyLists = Int.random(in: 0..<3, using: &dice) == 0
      scans = Bool.random(using: &dice)
      capsTotals = Bool.random(using: &dice)
      refusesBeyond = Bool.random(using: &dice)
    }

    private static let styles: [Resource.Style] = [
      .number(last: .body(at("pages"))), .offset(param: .query("offset")),
      .cursor(param: .query("cursor"), at: .body(at("cursor"))), .next(at: .body(at("next"))), .link,
      .after(param: .query("after"), at: at("n")), .one,
    ]

    static let names = ["shop", "item", "part"]
    static let paths = ["/shops", "/shops/{shop.id}/items", "/shops/{shop.id}/items/{item.id}/parts"]

    var resources: [Resource] { (0..<3).map(resource) }

    private func resource(_ level: Int) -> Resource {
      let (kind, path, name) = (kinds[level], Self.paths[level], Self.names[level])
      let removal = removals[level]
      let key = kind == .composite ? "{key.id},{key.code}" : asksMany && kind == .integer ? "{keys}" : "{key}"
      let pages = pages(level)
      var resource = Resource(
        name: name, path: path, records: at("list"), otherKeys: kind == .composite ? [at("code")] : [],
        table: name + "s", byKey: removal == .ask ? "\(path)/\(key)" : nil, removal: removal, pages: pages,
        columns: [.init("id", at: at("id"), kind == .text ? .text : .integer), .init("rev", at: at("rev"), .integer)],
        each: level == 0 ? nil : Each(of: Self.names[level - 1], changed: isChanged ? ["rev"] : []))
      resource.answers.noRecords.isAbsent = omitsEmptyLists
      if kind == .composite { resource.columns.append(.init("code", at: at("code"))) }
      guard let start, level == 1, removal == .ask else { return resource }
      resource.since = since(start, listing: resource.listing)
      if hasAsk {
        resource.since?.asks = true
        resource.since?.listing.path = path + "-changes"
        resource.since?.listing.pages = .init(.one)
      }
      return resource
    }

    private func pages(_ level: Int) -> Resource.Pages {
      var pages = Resource.Pages(styles[level])
      switch ending(level) {
      case .usual: break
      case .more: pages.more = .body(at("more"))
      case .count: pages.count = .body(at("count"))
      }
      if pages.style.kind == .number, pages.ending != nil || pages.count != nil { pages.style.last = nil }
      if refusesBeyond, promises(level) { pages.beyond = [404] }
      return pages
    }

    /// The sign of the definition.
    func ending(_ level: Int) -> End {
      switch (styles[level].kind, ends[level]) {
      case (.one, _): .usual
      case (.after, .usual): .more
      case (.offset, .usual): .count
      case (_, let end): end
      }
    }

    /// True if each answer of a list says whether another page follows.
    func promises(_ level: Int) -> Bool {
      switch ending(level) {
      case .more: true
      case .count: !capsTotals
      case .usual: styles[level].kind == .number || !capsTotals
      }
    }

    /// True if the pages of a list are cut by keys.
    func scans(_ level: Int) -> Bool { scans && ending(level) != .count && styles[level].mayHaveEmptyPages }

    private func since(_ start: Start, listing: Listing) -> Since {
      let (param, wholeEvery) = (Resource.RequestPlace.query("since"), Duration.seconds(5000))
      switch start {
      case .number:
        return Since(
          at: at("rev"), param: param, form: .number, overlap: .number(1), wholeEvery: wholeEvery, listing: listing)
      case .unix:
        return Since(
          at: at("unix"), param: param, form: .unix, overlap: .time(.seconds(10)), wholeEvery: wholeEvery,
          listing: listing)
      case .rfc3339:
        return Since(
          at: at("time"), param: param, form: .rfc3339, overlap: .time(.seconds(10)), wholeEvery: wholeEvery,
          listing: listing)
      case .token: return Since(token: .body(at("token")), param: param, wholeEvery: wholeEvery, listing: listing)
      }
    }

    /// The lowest revision that an incremental pull with this start wants.
    func revision(from start: String) -> Int {
      let number = Int(start)
      switch self.start {
      case .number?: return number ?? 0
      case .unix?: return number.map(ErringUpstream.revision) ?? 0
      case .rfc3339?:
        let time = Mark(start.replacing("%3A", with: ":"), form: .rfc3339)?.value
        return time.map { ErringUpstream.revision(at: Int($0 / 1_000_000_000)) } ?? 0
      case .token?: return number.map { $0 + 1 } ?? 0
      case nil: return 0
      }
    }

    /// The records of those resources that each honest sync makes equal to upstream. With `twice` a record goes only at
    /// the second pull that misses it, and its descendants with it.
    func prompt(_ records: Set<String>) -> Set<String> {
      let names = Self.names.prefix(removals.firstIndex(of: .twice) ?? removals.count)
      return records.filter { record in names.contains { record.hasPrefix("\($0) ") } }
    }

    /// Name, table and column of the record id.
    var rows: [(name: String, table: String, id: String)] {
      (0..<3).map { (Self.names[$0], Self.names[$0] + "s", id($0)) }
    }

    private func id(_ level: Int) -> String { level == 0 && kinds[0] == .integer ? "id" : "record_id" }

    var queries: [String] {
      [
        "SELECT 'shop ' || id FROM shops",
        "SELECT 'item ' || s.id || ' ' || i.id FROM items i LEFT JOIN shops s ON s.\(id(0)) = i.shop_id",
        """
        SELECT 'part ' || s.id || ' ' || i.id || ' ' || p.id FROM parts p
        LEFT JOIN items i ON i.record_id = p.item_id LEFT JOIN shops s ON s.\(id(0)) = i.shop_id
        """,
      ]
    }
  }

  struct State: Sendable {
    /// Revisions by the numbers of the keys.
    var records: [[Int]: Int] = [:]
    /// Removed records, with the revision of their removal.
    var removed: [[Int]: Int] = [:]
    /// Records that lists lack.
    var hidden: Set<[Int]> = []
    /// Number of steps in which lists lacked a record, by its key. Removals count, too: the key may return.
    var misses: [[Int]: Int] = [:]
    var byKey = ByKey.right
    /// Number of requests after which each is answered with 429; nil for no limit.
    var patience: Int?
    /// Each answer of that number is partial; nil if all are whole.
    var partialEvery: Int?
    /// True if the first of two answers of a list lacks it.
    var lacksLists = false
    /// The answer for pages after the first, if others promise them; nil if they are there.
    var brokenPromise: BrokenPromise?
    /// Number of promised pages that were not there.
    fileprivate(set) var brokenPromises = 0
    /// Numbers of requests, by the paths of their lists.
    private var requests: [String: Int] = [:]
    /// Number of answers that were partial, lacked their list, were empty in the middle, or had a capped total.
    private(set) var oddAnswers = 0
    private(set) var revision = 10

    /// The number of the request for a list, from 1.
    mutating func asked(_ path: String) -> Int {
      requests[path, default: 0] += 1
      return requests[path] ?? 0
    }

    mutating func noteOdd(if isOdd: Bool) { if isOdd { oddAnswers += 1 } }

    mutating func add(_ dice: inout SeededDice) {
      let parents = records.keys.filter { $0.count < 3 }.sorted { $0.lexicographicallyPrecedes($1) }
      let parent = Int.random(in: 0..<4, using: &dice) == 0 ? [] : parents.randomElement(using: &dice) ?? []
      let key = parent + [Int.random(in: 1...9, using: &dice)]
      guard records[key] == nil else { return }
      touch(key)
      removed[key] = nil
    }

    /// A change of a record is a change of its ancestors.
    mutating func touch(_ key: [Int]) {
      for depth in 1...key.count {
        revision += 1
        records[Array(key.prefix(depth))] = revision
      }
    }

    mutating func remove(_ dice: inout SeededDice) {
      let all = records.keys.sorted { $0.lexicographicallyPrecedes($1) }
      guard let key = all.randomElement(using: &dice) else { return }
      if key.count > 1 { touch(Array(key.dropLast())) }
      for lost in all where lost.starts(with: key) {
        revision += 1
        records[lost] = nil
        misses[lost, default: 0] += 1
        removed[lost] = revision
      }
    }

    mutating func live(_ dice: inout SeededDice, isFirst: Bool) {
      for _ in 0..<Int.random(in: 0...3, using: &dice) { add(&dice) }
      if isFirst { return }
      for _ in 0..<Int.random(in: 0...2, using: &dice) { remove(&dice) }
      let all = records.keys.sorted { $0.lexicographicallyPrecedes($1) }
      for _ in 0..<Int.random(in: 0...2, using: &dice) { all.randomElement(using: &dice).map { touch($0) } }
      hidden = []
      if Int.random(in: 0..<2, using: &dice) == 0 {
        for _ in 0..<Int.random(in: 1...4, using: &dice) {
          all.randomElement(using: &dice).map { _ = hidden.insert($0) }
        }
      }
      for key in hidden { misses[key, default: 0] += 1 }
      byKey = Bool.random(using: &dice) ? .right : ByKey.allCases.randomElement(using: &dice) ?? .right
      patience = Int.random(in: 0..<4, using: &dice) == 0 ? Int.random(in: 0...25, using: &dice) : nil
      partialEvery = Bool.random(using: &dice) ? Int.random(in: 2...9, using: &dice) : nil
      lacksLists = Int.random(in: 0..<4, using: &dice) == 0
      let breaks = Int.random(in: 0..<3, using: &dice) == 0
      brokenPromise = breaks ? BrokenPromise.allCases.randomElement(using: &dice) : nil
    }
  }

  let plan: Plan
  private let state = Mutex(State())

  init(_ plan: Plan) { self.plan = plan }

  func change(_ dice: inout SeededDice, by body: (inout State, inout SeededDice) -> Void) {
    state.withLock { body(&$0, &dice) }
  }

  /// True if lists and `by_key` say what upstream has. A broken promise shows itself, so that it is no lie.
  var isHonest: Bool {
    state.withLock { state in
      state.hidden.isEmpty && [.right, .limited].contains(state.byKey)
        && !(plan.isPartialAtTimes && state.partialEvery != nil) && !(plan.omitsEmptyLists && state.lacksLists)
    }
  }

  /// The members with which an answer says whether it is whole. No definition names them.
  private static let signs: [@Sendable (Bool) -> String] = [
    { #""partial":\#($0)"# }, { #""success":\#(!$0)"# }, { #""unreachable":\#($0 ? #"["eu"]"# : "[]")"# },
    { #""meta":{"timed_out":\#($0)}"# },
  ]

  var oddAnswers: Int { state.withLock(\.oddAnswers) }
  var brokenPromises: Int { state.withLock(\.brokenPromises) }

  var records: Set<String> { Set(state.withLock { $0.records.keys.map(text) }) }

  /// The records that no sync may remove. With `twice` those go that two pulls missed, and their descendants.
  var lasting: Set<String> {
    Set(
      state.withLock { state in
        state.records.keys.filter { key in
          !(1...key.count).contains {
            plan.removals[$0 - 1] == .twice && state.misses[Array(key.prefix($0)), default: 0] > 1
          }
        }.map(text)
      })
  }

  /// The records that a list lacked at any time, and their descendants. If it was new then, its list is requested again
  /// only once the parent has changed.
  var missed: Set<String> {
    Set(
      state.withLock { state in
        state.records.keys.filter { key in
          (1...key.count).contains { state.misses[Array(key.prefix($0)), default: 0] > 0 }
        }.map(text)
      })
  }

  private func text(_ key: [Int]) -> String {
    let texts = key.enumerated().map { plan.kinds[$0] == .text ? "k\($1)" : "\($1)" }
    return ([Plan.names[key.count - 1]] + texts).joined(separator: " ")
  }

  var description: String { "\(plan) \(state.withLock { "\($0.byKey) hidden \($0.hidden)" })" }

  // MARK: Answers

  func answer(_ request: Request) -> Response {
    state.withLock { state in
      if let patience = state.patience {
        if patience == 0 { return Response(status: 429) }
        state.patience = patience - 1
      }
      let target = String(request.url.dropFirst(Shelf.baseURL.count)).split(separator: "?", maxSplits: 1)
      let parts = target[0].split(separator: "/").map(String.init)
      let query = target.count > 1 ? String(target[1]) : ""
      let above = stride(from: 1, to: parts.count - (parts.count.isMultiple(of: 2) ? 1 : 0), by: 2).map {
        number(parts[$0])
      }
      if above.indices.contains(where: { state.records[Array(above.prefix($0 + 1))] == nil }) {
        return Response(status: 404)
      }
      if parts.count.isMultiple(of: 2) { return byKey(parts[parts.count - 1], above: above, state) }
      return list(
        String(target[0]), above: above, query: query, isChanges: parts.last?.hasSuffix("-changes") == true, &state)
    }
  }

  /// Time of a revision, in seconds since 1970.
  private static func time(of revision: Int) -> Int { 1_750_000_000 + 10 * revision }
  private static func revision(at time: Int) -> Int { (time - 1_750_000_000 + 9) / 10 }

  private func date(_ state: State) -> Request.Header {
    let time = Self.time(of: state.revision) + plan.skew
    return .init("Date", Date(timeIntervalSince1970: Double(time)).httpDate)
  }

  private func number(_ text: String) -> Int { Int(text.drop { $0 == "k" }) ?? 0 }

  private func json(_ key: [Int], revision: Int) -> String {
    let number = key[key.count - 1]
    let id = plan.kinds[key.count - 1] == .text ? "\"k\(number)\"" : "\(number)"
    let time = Self.time(of: revision)
    let times = "\"unix\":\(time),\"time\":\"\(Date(timeIntervalSince1970: Double(time)).rfc3339)\""
    return #"{"id":\#(id),"n":\#(number),"code":"c\#(number)","rev":\#(revision),\#(times)}"#
  }

  private func byKey(_ text: String, above: [Int], _ state: State) -> Response {
    let texts = text.replacing("%2C", with: ",").split(separator: ",").map(String.init)
    let isOne = plan.kinds[above.count] == .composite || texts.count == 1
    let keys = (isOne ? Array(texts.prefix(1)) : texts).map { above + [number($0)] }
    switch state.byKey {
    case .right, .limited: break
    case .notFound: return Response(status: 404)
    case .noContent: return Response(status: 204)
    case .object: return Response(json: "{}")
    case .another: return Response(json: json(above + [99], revision: 1))
    case .serverError: return Response(status: 500)
    }
    var found = keys.filter { state.records[$0] != nil }.map { json($0, revision: state.records[$0] ?? 0) }
    if isOne { return found.first.map { Response(json: $0) } ?? Response(status: 404) }
    if state.byKey == .limited { found = Array(found.prefix(2)) }
    return Response(json: "[\(found.joined(separator: ","))]")
  }

  private static let pageSize = 2

  /// True if a page is not there although another answer promises it. No answer shows the difference without a promise.
  private func isBroken(_ state: inout State, level: Int) -> Bool {
    let isSeen =
      switch state.brokenPromise {
      case .refused?: plan.promises(level)
      case .empty?: !plan.capsTotals
      case nil: false
      }
    if isSeen { state.brokenPromises += 1 }
    return isSeen
  }

  private func list(_ path: String, above: [Int], query: String, isChanges: Bool, _ state: inout State) -> Response {
    var parameters: [String: Int] = [:]
    var start: String?
    for parameter in query.split(separator: "&") {
      let parts = parameter.split(separator: "=", maxSplits: 1).map(String.init)
      if parts[0] == "since" { start = parts[1] } else { parameters[parts[0]] = parts.count > 1 ? Int(parts[1]) : nil }
    }
    let since = start.map(plan.revision) ?? 0
    var all = state.records.filter { $0.key.count == above.count + 1 && $0.key.starts(with: above) }
    all = all.filter { !state.hidden.contains($0.key) && $0.value >= since }
    if isChanges {
      let removed = state.removed.filter { $0.key.count == above.count + 1 && $0.key.starts(with: above) }
      all.merge(removed.filter { $0.value >= since }) { old, _ in old }
    }
    let sorted = all.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let style = isChanges ? Resource.Style.one : plan.styles[above.count]
    var first = 0
    switch style.kind.step {
    case .counts(.pages): first = ((parameters["page"] ?? 1) - 1) * Self.pageSize
    case .counts(.records): first = parameters["offset"] ?? 0
    case .sends(.ofAnswer), .follows: first = parameters["cursor"] ?? 0
    case .sends(.ofLastRecord): first = sorted.prefix { ($0.key.last ?? 0) <= parameters["after"] ?? 0 }.count
    case .stops: break
    }
    var shown = style == .one ? sorted[...] : sorted.dropFirst(first).prefix(Self.pageSize)
    var end = first + shown.count
    var hasMore = end < sorted.count
    var pages = max(1, (sorted.count + Self.pageSize - 1) / Self.pageSize)
    if !isChanges, plan.scans(above.count) {
      end = first + Self.pageSize
      shown = sorted.filter { first < $0.key.last ?? 0 && $0.key.last ?? 0 <= end }[...]
      hasMore = sorted.contains { $0.key.last ?? 0 > end }
      pages = max(1, ((sorted.last?.key.last ?? 0) + Self.pageSize - 1) / Self.pageSize)
      state.noteOdd(if: shown.isEmpty && hasMore)
    }
    if plan.refusesBeyond, first > 0, shown.isEmpty, !hasMore { return Response(status: 404) }
    if !isChanges, first > 0, !shown.isEmpty, isBroken(&state, level: above.count) {
      if state.brokenPromise == .refused { return Response(status: 404) }
      shown = []
    }
    let request = state.asked(path)
    let isPartial = plan.isPartialAtTimes && state.partialEvery.map { request.isMultiple(of: $0) } == true
    if isPartial { shown = shown.prefix(request % 2) }
    let isLacking = plan.omitsEmptyLists && state.lacksLists && first == 0 && !request.isMultiple(of: 2)
    state.noteOdd(if: isPartial || isLacking && !shown.isEmpty)
    let total = plan.capsTotals ? min(Self.pageSize, sorted.count) : sorted.count
    state.noteOdd(if: total < sorted.count && !isChanges && plan.ending(above.count) == .count)
    let sinceQuery = start.map { "since=\($0)&" } ?? ""
    let address = "\(path)?\(sinceQuery)cursor=\(end)"
    let next = hasMore ? "\"\(address)\"" : "null"
    let records = shown.map { json($0.key, revision: $0.value) }.joined(separator: ",")
    let totals = "\"count\":\(total),\"pages\":\(pages),\"more\":\(hasMore),\(Self.signs[request % 4](isPartial))"
    let token = "\"token\":\"\(state.revision)\""
    let isOmitted = isLacking || plan.omitsEmptyLists && shown.isEmpty
    let members = "\(totals),\(token),\"cursor\":\(hasMore ? "\(end)" : "null"),\"next\":\(next)"
    let body = "{\(members)\(isOmitted ? "" : ",\"list\":[\(records)]")}"
    let links = style == .link && hasMore ? [Request.Header("Link", "<\(address)>; rel=\"next\"")] : []
    return Response(json: body, headers: [date(state)] + links)
  }
}

extension Resource.Style {
  /// True if an answer of this style says that more pages follow an empty one.
  fileprivate var mayHaveEmptyPages: Bool {
    switch kind.step {
    case .counts(.pages), .sends(.ofAnswer), .follows: true
    case .counts(.records), .sends(.ofLastRecord), .stops: false
    }
  }
}
