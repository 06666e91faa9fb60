package import FoundationEssentials
package import RosterCore

/// Reads `[resource.*]` (rosterd.toml(5)).
package struct DefinitionsReader {
  /// The mistakes.
  package private(set) var faults = DefinitionFaults()
  /// Sentences about settings without effect.
  package private(set) var warnings: [String] = []

  /// Decides how many windows there are.
  private let now: Date

  /// Has read nothing.
  package init(now: Date = Date()) { self.now = now }

  /// The resources, in the file's order. Resources with mistakes may be missing.
  package mutating func resources(_ item: TOMLItem) -> [Resource] {
    let path = ["resource"]
    guard let tables = faults.table(item, at: path) else { return [] }
    var written: [WrittenDefinition] = []
    for table in tables.list {
      let place = path + [table.name]
      if !table.name.utf8.isResourceName {
        faults.add(place, "is no resource's name", allowed: "a to z first, then a to z, digits and _, 40 at most")
      }
      if let definition = definition(table.item, name: table.name, at: place) { written.append(definition) }
    }
    let parents = written.filter { $0.resource.windows != nil }.map(\.resource)
    for index in written.indices {
      written[index].takeWindows(of: parents)
      written[index].windowCount = written[index].resource.windows?.count(at: now)
    }
    let rules = DefinitionRules()
    for definition in written { check(definition, by: rules, at: path + [definition.resource.name]) }
    checkTogether(written, by: rules, at: path)
    return written.map(\.resource)
  }

  /// The definition that is stored as JSON of the same keys, without its rules: it was valid when it was stored.
  mutating func storedDefinition(_ json: JSONValue, name: String) -> Resource? {
    definition(TOMLItem(json: json), name: name, at: [])?.resource
  }

  private mutating func definition(_ item: TOMLItem, name: String, at path: [String]) -> WrittenDefinition? {
    guard let members = faults.table(item, at: path) else { return nil }
    var resource = Resource(name: name, path: "", columns: [])
    faults.read(members, at: path, Resource.keys, besides: Resource.tables, into: &resource)
    if let pages = members.given("pages") { resource.pages = self.pages(pages, at: path + ["pages"]) }
    if let columns = members.given("columns") { resource.columns = self.columns(columns, at: path + ["columns"]) }
    if let lists = members.given("lists") { resource.lists = self.lists(lists, at: path + ["lists"]) }
    if let each = members.given("each") { resource.each = self.each(each, at: path + ["each"]) }
    if let since = members.given("since") { resource.since = self.since(since, of: resource, at: path + ["since"]) }
    var definition = WrittenDefinition(resource: resource, given: members.givenPaths)
    definition.fillIn()
    return definition
  }

  private mutating func each(_ item: TOMLItem, at path: [String]) -> Each {
    var each = Each(of: "")
    guard let members = faults.table(item, at: path) else { return each }
    faults.read(members, at: path, Each.keys, into: &each)
    return each
  }

  private mutating func pages(_ item: TOMLItem, at path: [String]) -> Resource.Pages {
    guard let members = faults.table(item, at: path) else { return Resource.Pages() }
    var pages = Resource.Pages(.init(members.given("style").flatMap { try? ValueType.pageStyle.read($0) } ?? .number))
    faults.read(members, at: path, Resource.Pages.keys, into: &pages)
    return pages
  }

  private mutating func since(_ item: TOMLItem, of resource: Resource, at path: [String]) -> Since {
    var since = Since(listing: resource.listing)
    guard let members = faults.table(item, at: path) else { return since }
    faults.read(members, at: path, Since.keys, besides: Since.tables, into: &since)
    if let pages = members.given("pages") { since.listing.pages = self.pages(pages, at: path + ["pages"]) }
    return since
  }

  private mutating func columns(_ item: TOMLItem, at path: [String]) -> [Resource.Column] {
    guard let members = faults.table(item, at: path) else { return [] }
    return members.list.map { column($0.name, item: $0.item, at: path + [$0.name]) }
  }

  private mutating func column(_ name: String, item: TOMLItem, at path: [String]) -> Resource.Column {
    var column = Resource.Column(name, at: JSONPointer())
    switch item {
    case .string: column.at = faults.value(item, at: path, .pointer) ?? column.at
    case .table(let members):
      faults.read(members, at: path, Resource.Column.keys, into: &column)
      if members["null"] == .boolean(false), !column.type.isText {
        faults.add(
          path + ["null"],
          "false has no effect: a column of the type \(column.type.rawValue) is NULL if the value is absent",
          allowed: "true, or nothing; false is for text")
      }
    case .integer, .float, .boolean, .date, .list:
      faults.add(
        path, item.isNot("a column"), allowed: "a JSON Pointer such as \"/name\", or { at = …, type = …, null = … }")
    }
    return column
  }

  private mutating func lists(_ item: TOMLItem, at path: [String]) -> [Resource.List] {
    guard let tables = faults.table(item, at: path) else { return [] }
    return tables.list.compactMap { table in
      let place = path + [table.name]
      guard let members = faults.table(table.item, at: place) else { return nil }
      var list = Resource.List(table: table.name, at: JSONPointer(), columns: [])
      faults.read(members, at: place, Resource.List.keys, besides: Resource.List.tables, into: &list)
      if let columns = members.given("columns") { list.columns = self.columns(columns, at: place + ["columns"]) }
      return list
    }
  }

  /// Checks the rules of one definition.
  private mutating func check(_ definition: WrittenDefinition, by rules: DefinitionRules, at path: [String]) {
    warnings += definition.warnings.map { "\(dotted(path + $0.path))\($0.text)" }
    faults.check(rules.definition, of: definition, at: path)
    for table in [["pages"], ["since", "pages"]] {
      if let pages = definition.pages(at: table) { faults.check(rules.pages, of: pages, at: path + table) }
    }
    let requests = [WrittenRequest(wholeOf: definition), WrittenRequest(incrementalOf: definition)]
    for request in requests.compactMap(\.self) {
      faults.check(rules.request, of: request, at: path, place: request.place)
    }
    WrittenSince(definition).map { faults.check(rules.since, of: $0, at: path) }
    faults.check(rules.names, of: definition, at: path)
  }

  /// Checks the rules between definitions.
  private mutating func checkTogether(_ written: [WrittenDefinition], by rules: DefinitionRules, at path: [String]) {
    for tables in WrittenTables.all(of: written) {
      faults.check(rules.tables, of: tables, at: path + [tables.definition.resource.name])
    }
    let names = written.map(\.resource.name).filter { faults.holds(path + [$0, "columns"]) }
    let family = WrittenFamily(written, unknown: Set(names))
    for definition in written {
      let child = WrittenChild(definition, of: family)
      faults.check(rules.child, of: child, at: path + [definition.resource.name])
      warnings += family.warnings(definition)
    }
  }

  /// The names of all rules.
  package static var rules: [String] {
    WrittenDefinition.rules.map(\.name) + WrittenPages.rules.map(\.name) + WrittenRequest.rules.map(\.name)
      + WrittenSince.rules.map(\.name) + WrittenDefinition.nameRules.map(\.name) + WrittenTables.rules.map(\.name)
      + WrittenChild.rules.map(\.name)
  }
}

extension TOMLMembers {
  /// Paths of all keys with a value, tables included.
  fileprivate var givenPaths: Set<[String]> {
    var paths: Set<[String]> = []
    for member in list where member.item != .string("") {
      paths.insert([member.name])
      guard case .table(let inner) = member.item else { continue }
      for path in inner.givenPaths { paths.insert([member.name] + path) }
    }
    return paths
  }
}

extension WrittenDefinition {
  /// Sets the defaults that depend on other keys.
  fileprivate mutating func fillIn() {
    if resource.windows != nil, !has("key") { resource.keyPlaces = [Windows.start] }
    if !has("removal") { resource.removal = Resource.usualRemoval(byKey: resource.byKey) }
    for index in resource.columns.indices { resource.columns[index].leaveOutNull(outsideOf: resource.keyPlaces) }
    for list in resource.lists.indices {
      for index in resource.lists[list].columns.indices {
        resource.lists[list].columns[index].leaveOutNull(outsideOf: [])
      }
    }
    if let statuses = resource.each?.emptyStatuses {
      resource.answers.noRecords.statuses += statuses.filter { !resource.answers.noRecords.statuses.contains($0) }
      resource.each?.emptyStatuses = nil
    }
    if !has("each.whole_every") { resource.each.map { resource.each?.wholeEvery = Each.usualWhole($0.changed) } }
    if !has("since.value") {
      let param = resource.since?.param
      resource.since?.value = Since.usualValue(param)
    }
    if resource.since?.isDated == true, !has("since.form") { resource.since?.form = .http }
    if !has("since.overlap") { resource.since.map { resource.since?.overlap = Since.usualOverlap($0.form) } }
    resource.listing.fillIn(hasParam: has("pages.param"))
    let hasParam = has("since.pages.param")
    resource.since?.listing.fillIn(hasParam: hasParam)
  }
}

extension WrittenDefinition {
  /// A child of windows pulls the lists of older ones by their age only, and of one that ended since.
  fileprivate mutating func takeWindows(of parents: [Resource]) {
    guard let parent = parents.first(where: { $0.name == parent }), let windows = parent.windows else { return }
    resource.each?.windows = windows
    if !has("each.whole_every") { resource.each?.wholeEvery = .every(Windows.usualWhole) }
    let end = parent.columns.first { $0.at == Windows.end }
    if let end, windows.endsNow, !has("each.changed") { resource.each?.changed = [end.name] }
  }
}

extension Listing {
  /// The default of `at` is the key, which may be at another place in the incremental list.
  /// - Parameter hasParam: True if the table of pages names a parameter.
  fileprivate mutating func fillIn(hasParam: Bool) {
    if !hasParam, let placeholder = pages.style.kind.placeholder, path.contains(placeholder) {
      pages.style.param = .path
    }
    if pages.style.kind.step == .sends(.ofLastRecord), pages.style.at == nil { pages.style.at = .body(key) }
    if let text = pages.valueText, text == pages.style.kind.placeholder, pages.style.param != .everyMember {
      pages.valueText = nil
    }
  }
}

extension Resource.Column {
  /// `null = true` has no effect on a type that is NULL anyway, unless the column is a part of a composite key.
  fileprivate mutating func leaveOutNull(outsideOf key: [JSONPointer]) {
    if !type.isText, nulls.isEmpty { isNullable = isNullable && key.count > 1 && key.contains(at) }
  }
}

extension WrittenDefinition {
  /// Sentences about settings without effect, with the path that begins each.
  fileprivate var warnings: [(path: [String], text: String)] {
    unsent + pointless
      + oddDays.map {
        ($0, ": {today… without a valid end is literal text; {today}, {today-7d} and {today-7d:date} are replaced")
      }
  }

  private var unsent: [(path: [String], text: String)] {
    var found: [(path: [String], text: String)] = []
    if resource.method == .get, resource.body != .object([]) { found.append((["body"], " is not sent with GET")) }
    if ParentColumn(whole: resource.path) != nil, !resource.query.isEmpty {
      found.append((["query"], " is not sent, because path is an address"))
    }
    return found
  }

  private var pointless: [(path: [String], text: String)] {
    var found: [(path: [String], text: String)] = []
    for column in resource.columns
    where resource.keyPlaces == [column.at] && column.isNullable && (column.type.isText || !column.nulls.isEmpty)
      && !resource.isDetail
    {
      found.append((["columns", column.name, "null"], " has no effect: a key is never NULL"))
    }
    if let place = resource.listing.skippingAfter {
      found.append(
        (
          ["pages", "at"],
          ": records that share a value at \(place.description) may be skipped between two pages, so that the proof is "
            + "weak; name the key, if upstream sorts by it"
        ))
    }
    if let place = resource.pages.style.placeInBody, place.segments.contains(where: { $0.contains("[") }) {
      found.append(
        (
          ["pages", "at"],
          ": \(place.description.tomlString) is a JSON Pointer, so that the brackets are part of a name; the element of a "
            + "list that meets conditions is { list = …, where = …, value = … }"
        ))
    }
    if has("pages.size_param"), !has("pages.size") {
      found.append((["pages", "size_param"], " says nothing without size"))
    }
    return found
  }

  /// The keys with a text that begins a placeholder for a day and has none.
  private var oddDays: [[String]] {
    let since = resource.since
    let texts = [("from", since?.from), ("value", since?.value)].map { name, text in
      (["since", name], text.map { DayText($0).hasOddPlaceholder } ?? false)
    }
    let requests = [
      (["query"], resource.query.contains { $0.hasOddDay }), (["body"], resource.body.hasOddDay),
      (["since", "query"], has("since.query") && since?.listing.query.contains { $0.hasOddDay } == true),
      (["since", "body"], has("since.body") && since?.listing.body.hasOddDay == true),
    ]
    return (requests + texts).filter(\.1).map(\.0)
  }
}

extension Listing {
  /// The place of the value after which the next page begins, if it is not the key.
  fileprivate var skippingAfter: JSONPointer? {
    guard pages.style.kind.step == .sends(.ofLastRecord), let place = pages.style.placeInBody, [place] != keyPlaces
    else { return nil }
    return place
  }
}

/// The rules of definitions, which a reader makes once. They take room only while a configuration is read.
private struct DefinitionRules {
  let definition = WrittenDefinition.rules
  let pages = WrittenPages.rules
  let request = WrittenRequest.rules
  let since = WrittenSince.rules
  let names = WrittenDefinition.nameRules
  let tables = WrittenTables.rules
  let child = WrittenChild.rules
}
