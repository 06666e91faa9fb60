import RosterModel

/// Reads `[resource.*]` (docs/CONTRACT.md, section 2, Resources).
struct DefinitionsReader {
  private(set) var faults = DefinitionFaults()
  /// Sentences about settings without effect.
  private(set) var warnings: [String] = []

  /// The resources, in the file's order. Resources with mistakes may be missing.
  mutating func resources(_ item: TOMLItem) -> [Resource] {
    let path = ["resource"]
    guard let tables = faults.table(item, at: path) else { return [] }
    var drafts: [(name: String, draft: ResourceDraft)] = []
    for table in tables.list {
      let place = path + [table.name]
      if !table.name.utf8.isResourceName {
        faults.add(place, "is no resource's name", allowed: "a to z first, then a to z, digits and _, 40 at most")
      }
      if let draft = definition(table.item, at: place) { drafts.append((table.name, draft)) }
    }
    for (name, draft) in drafts {
      judge(draft.conflicts + draft.columnConflicts(of: name) + draft.eachConflicts(of: name), at: path + [name])
    }
    let ancestry = Ancestry(drafts)
    judge(TakenTables.conflicts(drafts) + ancestry.conflicts(drafts), at: path)
    warnings += ancestry.warnings(drafts)
    return drafts.compactMap { $0.draft.resource(named: $0.name) }
  }

  private mutating func definition(_ item: TOMLItem, at path: [String]) -> ResourceDraft? {
    guard let members = faults.table(item, at: path) else { return nil }
    var draft = ResourceDraft()
    faults.read(members, at: path, ResourceDraft.keys, besides: ResourceDraft.tables, into: &draft)
    if let pages = members.given("pages") { draft.pages = self.pages(pages, at: path + ["pages"]) }
    if let columns = members.given("columns") { draft.columns = self.columns(columns, at: path + ["columns"]) }
    if let lists = members.given("lists") { draft.lists = self.lists(lists, at: path + ["lists"]) }
    if let since = members.given("since") { draft.since = self.since(since, at: path + ["since"]) }
    if let each = members.given("each") { draft.each = self.each(each, at: path + ["each"]) }
    refuseMeaningless(members, draft: draft, at: path)
    if draft.method == .get, draft.body != .object([]) {
      warnings.append("\(dotted(path + ["body"])) is not sent with GET")
    }
    if draft.path.flatMap({ ParentColumn(whole: $0) }) != nil, !draft.query.isEmpty {
      warnings.append("\(dotted(path + ["query"])) is not sent, because path is an address")
    }
    for column in draft.columns
    where draft.key == [column.at] && column.type.isText && column.isNullable && !draft.isDetail {
      warnings.append("\(dotted(path + ["columns", column.name, "null"])) has no effect: a key is never NULL")
    }
    for place in draft.oddDays {
      warnings.append(
        "\(dotted(path + place)): {today… without a valid end is literal text; {today}, {today-7d} and "
          + "{today-7d:date} are replaced")
    }
    if let place = draft.skippingAfter {
      warnings.append(
        "\(dotted(path + ["pages", "at"])): records that share a value at \(place.description) may be skipped between two "
          + "pages, so that the proof is weak; name the key, if upstream sorts by it")
    }
    if draft.pages.sizeParam != nil, draft.pages.size == nil {
      warnings.append("\(dotted(path + ["pages", "size_param"])) says nothing without size")
    }
    return draft
  }

  /// Refuses keys without a meaning beside `inline`, and the key of a detail (F1.1).
  private mutating func refuseMeaningless(_ members: TOMLMembers, draft: ResourceDraft, at path: [String]) {
    for member in members.list where members.given(member.name) != nil {
      if members.given("inline") != nil, ResourceDraft.keysOfRequests.contains(member.name) {
        faults.add(path + [member.name], "is beside inline, which sends no request", allowed: "no \(member.name)")
      }
    }
    if draft.isDetail, members.given("key") != nil {
      faults.add(path + ["key"], "a detail has the key of its parent", allowed: "no key")
    }
  }

  private mutating func each(_ item: TOMLItem, at path: [String]) -> EachDraft {
    var draft = EachDraft()
    guard let members = faults.table(item, at: path) else { return draft }
    faults.read(members, at: path, EachDraft.keys, into: &draft)
    return draft
  }

  private mutating func pages(_ item: TOMLItem, at path: [String]) -> PagesDraft {
    var draft = PagesDraft()
    guard let members = faults.table(item, at: path) else { return draft }
    faults.read(members, at: path, PagesDraft.keys, into: &draft)
    guard !faults.holds(path + ["style"]) else { return draft }
    let foreign = draft.style.foreignKeys
    for name in members.list.filter({ $0.item != .string("") }).map(\.name) where foreign.contains(name) {
      let own = PagesDraft.keys.map(\.name).filter { !foreign.contains($0) }
      faults.add(
        path + [name], "the style \"\(draft.style.rawValue)\" does not use it", allowed: own.joined(separator: ", "))
    }
    return draft
  }

  private mutating func since(_ item: TOMLItem, at path: [String]) -> SinceDraft {
    var draft = SinceDraft()
    guard let members = faults.table(item, at: path) else { return draft }
    faults.read(members, at: path, SinceDraft.keys, besides: SinceDraft.tables, into: &draft)
    if let pages = members.given("pages") { draft.pages = self.pages(pages, at: path + ["pages"]) }
    if members.given("token") != nil {
      for name in SinceDraft.keysOfMarks where members.given(name) != nil {
        faults.add(path + [name], "is for at, and not for token", allowed: "no \(name)")
      }
      if members.given("value") != nil, members.given("param") == nil {
        faults.add(path + ["value"], "has no effect without param: the token is an address", allowed: "no value")
      }
    }
    return draft
  }

  private mutating func columns(_ item: TOMLItem, at path: [String]) -> [Resource.Column] {
    guard let members = faults.table(item, at: path) else { return [] }
    return members.list.map { column($0.name, item: $0.item, at: path + [$0.name]) }
  }

  private mutating func column(_ name: String, item: TOMLItem, at path: [String]) -> Resource.Column {
    var draft = ColumnDraft()
    switch item {
    case .string: draft.at = faults.value(item, at: path, .pointer) ?? draft.at
    case .table(let members): faults.read(members, at: path, ColumnDraft.keys, into: &draft)
    default:
      faults.add(
        path, item.isNot("a column"), allowed: "a JSON Pointer such as \"/name\", or { at = …, type = …, null = … }")
    }
    if draft.isNullable == false, !draft.type.isText {
      faults.add(
        path + ["null"],
        "false has no effect: a column of the type \(draft.type.rawValue) is NULL if the value is absent",
        allowed: "true, or nothing; false is for text")
    }
    return Resource.Column(name, at: draft.at, draft.type, isNullable: draft.isNullable == true && draft.type.isOfKeys)
  }

  private mutating func lists(_ item: TOMLItem, at path: [String]) -> [Resource.List] {
    guard let tables = faults.table(item, at: path) else { return [] }
    return tables.list.compactMap { table in
      let place = path + [table.name]
      guard let members = faults.table(table.item, at: place) else { return nil }
      var draft = ListDraft()
      faults.read(members, at: place, ListDraft.keys, besides: ListDraft.tables, into: &draft)
      let columns = members.given("columns").map { self.columns($0, at: place + ["columns"]) }
      var list = Resource.List(table: table.name, at: draft.at, columns: columns ?? [])
      for index in list.columns.indices where !list.columns[index].type.isText {
        list.columns[index].isNullable = false
      }
      list.isListOfOne = draft.isListOfOne
      return list
    }
  }

  /// Adds conflicts, except those that depend on refused values.
  private mutating func judge(_ conflicts: [DefinitionConflict], at path: [String]) {
    for conflict in conflicts where !conflict.restsOn.contains(where: { faults.holds(path + $0) }) {
      faults.add(path + conflict.path, conflict.problem, allowed: conflict.allowed)
    }
  }
}

extension ResourceDraft {
  /// The keys with a text that begins a placeholder for a day and has none (R6.3).
  fileprivate var oddDays: [[String]] {
    let texts = [("from", since?.from), ("value", since?.value)].map { name, text in
      (["since", name], text.map { DayText($0).hasOddPlaceholder } ?? false)
    }
    let requests = [
      (["query"], query.contains { $0.hasOddDay }), (["body"], body.hasOddDay),
      (["since", "query"], since?.query?.contains { $0.hasOddDay } ?? false),
      (["since", "body"], since?.body?.hasOddDay ?? false),
    ]
    return (requests + texts).filter(\.1).map(\.0)
  }
}
