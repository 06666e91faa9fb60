internal import RosterJSON
internal import RosterModel

extension Resource {
  /// `resources.definition`: the JSON of `[resource.NAME]` in the contract's form, with defaults filled in and secrets
  /// masked (T9.5).
  var definition: String { JSONWriter(definitionValue).text }

  /// `definition` without keys that neither the choice nor the reading of pages depends on. Pages that were pulled by
  /// an equal definition are of use.
  var pulledDefinition: String {
    JSONWriter(definitionValue.without([FeedFree.audit, FeedFree.byKeyRecords])).text
  }

  /// True if a stored definition differs at most in keys that may change without a new feed.
  func hasFeed(of definition: String) -> Bool {
    if definition.utf8.elementsEqual(self.definition.utf8) { return true }
    return (try? JSONValue(json: definition.utf8))?.definitionMasked.feedPart == definitionValue.feedPart
  }

  /// True if a stored definition has the same settings of `each`.
  func hasListRules(of definition: String) -> Bool {
    if each == nil || definition.utf8.elementsEqual(self.definition.utf8) { return true }
    return (try? JSONValue(json: definition.utf8))?[EachKey.table]
      == (try? JSONValue(json: self.definition.utf8))?[EachKey.table]
  }

  /// The requests of the resource, and the way in which its pages are read (P12). If the list has a single page, no
  /// value on it decides how the list continues. Then the place of the records does not belong to it. Secrets belong to
  /// it: another key may give another list.
  package var pulledList: [UInt8] {
    guard case .object(let members) = requestedValue else { return [] }
    let names: Set = [
      "path", "query", "method", "body", Later.shape, Later.rowNames, "pages", FeedFree.since, AnswerKey.table,
    ]
    return JSONWriter(
      .object(members.filter { names.contains($0.name) || $0.name == "records" && pages.style != .one })
    ).bytes
  }

  /// The request of an incremental pull, and the places that a pull reads to set the mark. `overlap` and `whole_every`
  /// do not belong to it (I1.1). nil without `since`.
  var sinceQuestion: String? {
    since.map { JSONWriter($0.json(isQuestion: true).definitionMasked).text }
  }

  private var definitionValue: JSONValue { requestedValue.definitionMasked }

  private var requestedValue: JSONValue {
    let lists = lists.map { list in
      JSONValue.Member(
        list.table,
        .object(
          [.init("at", .text(list.at.description)), .init("columns", list.columns.json)]
            + (list.isListOfOne ? [.init(AnswerKey.listOfOne, .boolean(true))] : [])))
    }
    return .object(
      [
        .init("path", .text(path)), .init("query", .object(query.map { .init($0.name, $0.value.json) })),
        .init("method", .text(method.rawValue)), .init("body", body), .init("records", .text(records.description)),
        .init(Later.shape, .text(shape.rawValue)), .init(Later.rowNames, .text(rowNames.description)),
        .init("key", keyValue), .init("table", .text(table)), .init("where", conditions.json),
        .init("search", .list(search.map(JSONValue.text))), .init("by_key", .text(byKey ?? "")),
        .init(FeedFree.byKeyRecords, .text(byKeyRecords.description)), .init("removal", .text(removal.rawValue)),
        .init("max_removal", maxRemoval.map { .integer($0) } ?? .null),
        .init(FeedFree.audit, .text(auditEvery?.text ?? "never")),
      ] + (since.map { [.init(FeedFree.since, $0.json(isQuestion: false))] } ?? [])
        + (each.map { [.init(EachKey.table, $0.json(emptyStatuses: answers.noRecords.statuses))] } ?? [])
        + (answers == AnswerRules() ? [] : [.init(AnswerKey.table, answers.json)])
        + (inline.map { [.init("inline", .list($0))] } ?? []) + [
          .init("pages", pages.json), .init("columns", columns.json), .init("lists", .object(lists)),
        ])
  }

  /// A list of one place is a plain key (R2.4).
  private var keyValue: JSONValue {
    hasCompositeKey ? .list(keyPlaces.map { .text($0.description) }) : .text(key.description)
  }

  /// Identifies the list of the resource (P8). If it changes, records that are absent from the new list do not count as
  /// missing.
  var listed: String {
    let parts: [JSONValue] = [
      .text(path), keyValue, .text(records.description), conditions.json,
    ]
    let shaped: [JSONValue] = shape.isPlain ? [] : [.text(shape.rawValue)]
    let parent: [JSONValue] = each.map { [.text($0.parent)] } ?? []
    return JSONWriter(.list(parts + shaped + parent)).text
  }
}

/// Keys that may change without a new feed (C3.2).
private enum FeedFree {
  static let audit = "audit_every"
  static let byKeyRecords = "by_key_records"
  static let since = "since"
  /// A key of `pages`.
  static let value = "value"
}

/// Keys of `each`.
private enum EachKey {
  static let table = "each"
  static let parent = "of"
  static let changed = "changed"
  static let wholeEvery = "whole_every"
  static let empty = "empty"
  static let emptyStatuses = "none"
}

/// Keys of `answers`, and of a list.
private enum AnswerKey {
  static let table = "answers"
  static let expect = "expect"
  static let partial = "partial"
  static let noRecords = "no_records"
  static let listOfOne = "list_of_one"
}

/// Keys that definitions of earlier versions lack.
private enum Later {
  static let shape = "shape"
  static let rowNames = "row_names"
  /// True if an integer column is a part of a composite key that may be NULL.
  static let nullInKey = "null_in_key"
  private static let defaults = [shape: Resource.Shape.objects.rawValue, rowNames: ""]

  static func isDefault(_ member: JSONValue.Member) -> Bool {
    defaults[member.name].map { member.value == .text($0) } ?? false
  }
}

extension JSONValue {
  /// A definition without the keys that may change without a new feed. A definition that an earlier version stored
  /// lacks keys of later versions.
  fileprivate var feedPart: JSONValue {
    guard case .object(let members) = without([FeedFree.audit, FeedFree.byKeyRecords, FeedFree.since, AnswerKey.table])
    else {
      return self
    }
    return .object(
      members.map { member in
        guard member.name == EachKey.table, case .object(let inner) = member.value else { return member }
        return Member(member.name, .object(inner.filter { $0.name == EachKey.parent }))
      })
  }

  /// The document without the named keys, without `pages.value`, and without defaults that later versions added.
  fileprivate func without(_ keys: Set<String>) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(
      members.filter { !keys.contains($0.name) && !Later.isDefault($0) }.map { member in
        guard member.name == "pages", case .object(let inner) = member.value else { return member }
        return Member(member.name, .object(inner.filter { $0.name != FeedFree.value }))
      })
  }
}

extension [Resource.Condition] {
  fileprivate var json: JSONValue { .object(map { .init($0.at.description, $0.test.json) }) }
}

extension ResourceTables {
  /// Reads a definition from the table `resources`, as far as it determines the tables. How the resource is pulled is
  /// not read. Throws `SQLiteError` (damaged) if rosterd did not write the definition.
  convenience init(name: String, definition: String) throws {
    guard let json = try? JSONValue(json: definition.utf8), let resource = Resource(name: name, tablesOf: json),
      resource.isDetail || resource.keyColumns != nil
    else { throw SQLiteError.damaged("the definition of \(name) cannot be read") }
    try self.init(resource)
  }
}

extension Resource {
  fileprivate init?(name: String, tablesOf json: JSONValue) {
    guard let path = json["path"]?.text, let key = json["key"]?.pointers, let first = key.first,
      let table = json["table"]?.text,
      case .list(let search)? = json["search"], let columns = [Column](json["columns"]),
      case .object(let lists)? = json["lists"]
    else { return nil }
    self.init(
      name: name, path: path, key: first, otherKeys: Array(key.dropFirst()), table: table,
      search: search.compactMap(\.text), columns: columns,
      lists: lists.compactMap(List.init))
    guard self.lists.count == lists.count, self.search.count == search.count else { return nil }
    if json["pages"]?["style"]?.text == Style.record.name { pages = Pages(.record) }
    if let each = json[EachKey.table] {
      guard let each = Each(each) else { return nil }
      self.each = each
    }
  }
}

extension Resource {
  /// Reads what determines the tables, how pulled records are read, and how they are compared with the snapshot. How
  /// they are requested is not read. nil if rosterd did not write the definition.
  init?(name: String, pulledBy definition: String) {
    guard let json = try? JSONValue(json: definition.utf8), let records = json["records"]?.pointer,
      case .object(let conditions)? = json["where"],
      let removal = json["removal"]?.text.flatMap(Removal.init(rawValue:))
    else { return nil }
    self.init(name: name, tablesOf: json)
    self.records = records
    shape = json[Later.shape]?.text.flatMap(Shape.init(rawValue:)) ?? .objects
    rowNames = json[Later.rowNames]?.pointer ?? JSONPointer()
    self.removal = removal
    self.conditions = conditions.compactMap(Condition.init)
    guard self.conditions.count == conditions.count, isDetail || keyColumns != nil else { return nil }
    // Their placeholders say whether the list of a parent is empty (R5.5).
    if case .object(let query)? = json["query"] {
      self.query = query.compactMap { member in Scalar(json: member.value).map { Parameter(member.name, $0) } }
    }
    body = json["body"] ?? body
    byKey = json["by_key"]?.text
    if let json = json[AnswerKey.table] {
      guard let answers = AnswerRules(pulledBy: json) else { return nil }
      self.answers = answers
    }
    if let since = json[FeedFree.since] { self.since = Since(pulledBy: since, listing) }
  }
}

extension Since {
  /// The part that describes how the pages of an incremental pull are read. nil if rosterd did not write this JSON.
  fileprivate init?(pulledBy json: JSONValue, _ listing: Listing) {
    guard let records = json["records"]?.pointer, let keys = json["key"]?.pointers, let key = keys.first else {
      return nil
    }
    var own = listing
    own.records = records
    own.shape = json[Later.shape]?.text.flatMap(Resource.Shape.init(rawValue:)) ?? .objects
    own.rowNames = json[Later.rowNames]?.pointer ?? JSONPointer()
    (own.key, own.otherKeys) = (key, Array(keys.dropFirst()))
    self.init(asks: json["ask"] == .boolean(true), listing: own)
  }
}

extension Each {
  fileprivate init?(_ json: JSONValue) {
    guard let parent = json[EachKey.parent]?.text, case .list(let changed)? = json[EachKey.changed],
      case .object(let empty)? = json[EachKey.empty],
      let whole = json[EachKey.wholeEvery].flatMap(Whole.init)
    else { return nil }
    self.init(
      of: parent, changed: changed.compactMap(\.text), wholeEvery: whole,
      empty: empty.compactMap { member in
        Resource.Condition.Test(member.value).map { ParentCondition(member.name, $0) }
      })
    guard self.changed.count == changed.count, self.empty.count == empty.count else { return nil }
  }

  /// - Parameter emptyStatuses: Those of `no_records`, because a change of them concerns the lists of a child.
  fileprivate func json(emptyStatuses: [Int]) -> JSONValue {
    .object([
      .init(EachKey.parent, .text(parent)), .init(EachKey.changed, .list(changed.map(JSONValue.text))),
      .init(EachKey.wholeEvery, wholeEvery.json),
      .init(EachKey.empty, .object(empty.map { .init($0.column, $0.test.json) })),
      .init(EachKey.emptyStatuses, .list(emptyStatuses.map { .integer($0) })),
    ])
  }
}

extension AnswerRules {
  fileprivate var json: JSONValue {
    let forms: [JSONValue] = (noRecords.isAbsent ? [.text("absent")] : []) + (noRecords.isNull ? [.text("null")] : [])
    return .object([
      .init(AnswerKey.expect, expect.json), .init(AnswerKey.partial, .list(partial.map { .text($0.description) })),
      .init(AnswerKey.noRecords, .list(forms + noRecords.statuses.map { .integer($0) })),
      .init(AnswerKey.listOfOne, .boolean(isListOfOne)),
    ])
  }

  /// Reads what the pages of the file depend on when they are read again. nil if rosterd did not write this JSON.
  fileprivate init?(pulledBy json: JSONValue) {
    self.init()
    guard case .list(let places)? = json[AnswerKey.partial] else { return nil }
    partial = places.compactMap(\.pointer)
    isListOfOne = json[AnswerKey.listOfOne] == .boolean(true)
  }
}

extension Each.Whole {
  fileprivate init?(_ json: JSONValue) {
    switch json {
    case .null: self = .inEachSync
    case .text("never"): self = .never
    case .text(let text):
      guard let time = Duration(text: text) else { return nil }
      self = .every(time)
    case .boolean, .number, .list, .object: return nil
    }
  }

  /// null for each sync.
  fileprivate var json: JSONValue {
    switch self {
    case .inEachSync: .null
    case .never: .text("never")
    case .every(let time): .text(time.text)
    }
  }
}

extension Resource.Condition {
  fileprivate init?(_ member: JSONValue.Member) {
    guard let at = JSONPointer(member.name), let test = Test(member.value) else { return nil }
    self.init(at, test)
  }
}

extension Resource.Condition.Test {
  fileprivate init?(_ json: JSONValue) {
    switch json {
    case .text("absent"): self = .absent
    case .text("present"): self = .present
    case .object:
      guard case .list(let values)? = json["not"] else { return nil }
      self = .differs(values.compactMap { Resource.Scalar(json: $0) })
    default:
      guard let scalar = Resource.Scalar(json: json) else { return nil }
      self = .equal(scalar)
    }
  }
}

extension Resource.List {
  fileprivate init?(_ member: JSONValue.Member) {
    guard let at = member.value["at"]?.pointer, let columns = [Resource.Column](member.value["columns"]) else {
      return nil
    }
    self.init(table: member.name, at: at, columns: columns)
    isListOfOne = member.value[AnswerKey.listOfOne] == .boolean(true)
  }
}

extension Resource.Column {
  fileprivate init?(_ member: JSONValue.Member) {
    guard let at = member.value["at"]?.pointer,
      let type = member.value["type"]?.text.flatMap(Resource.ColumnType.init(rawValue:))
    else { return nil }
    let isNullable = member.value[type.isText ? "null" : Later.nullInKey] == .boolean(true)
    self.init(member.name, at: at, type, isNullable: isNullable)
  }
}

extension [Resource.Column] {
  fileprivate init?(_ json: JSONValue?) {
    guard case .object(let members)? = json else { return nil }
    self = members.compactMap(Element.init)
    guard count == members.count else { return nil }
  }
}

extension JSONValue {
  fileprivate var pointer: JSONPointer? { text.flatMap { JSONPointer($0) } }

  /// One place, or a list of them; nil for anything else.
  fileprivate var pointers: [JSONPointer]? {
    guard case .list(let values) = self else { return pointer.map { [$0] } }
    let pointers = values.compactMap(\.pointer)
    return pointers.count == values.count ? pointers : nil
  }
}

extension [Resource.Column] {
  fileprivate var json: JSONValue {
    .object(
      map { column in
        let members: [JSONValue.Member] = [
          .init("at", .text(column.at.description)), .init("type", .text(column.type.rawValue)),
          .init("null", .boolean(column.isNullable || !column.type.isText)),
        ]
        let isPart = column.isNullable && !column.type.isText
        return JSONValue.Member(
          column.name, .object(members + (isPart ? [.init(Later.nullInKey, .boolean(true))] : [])))
      })
  }
}

extension Resource.Condition.Test {
  fileprivate var json: JSONValue {
    switch self {
    case .absent: .text("absent")
    case .present: .text("present")
    case .equal(let value): value.json
    case .differs(let values): .object([.init("not", .list(values.map(\.json)))])
    }
  }
}

extension Since {
  fileprivate func json(isQuestion: Bool) -> JSONValue {
    let times: [(String, JSONValue)] = [
      ("overlap", overlap.json), ("whole_every", .text(wholeEvery?.text ?? "never")),
    ]
    let members: [(String, JSONValue)] = [
      ("at", .text(at?.description ?? "")), ("token", .text(token?.description ?? "")),
      ("param", .text(param?.description ?? "")), ("value", .text(value)),
      ("form", .text(form.rawValue)),
      ("zone", zone.map { $0.name.map(JSONValue.text) ?? .integer($0.firstOffset) } ?? .null),
      ("from", from.map(JSONValue.text) ?? .null),
      ("path", .text(listing.path)), ("query", .object(listing.query.map { .init($0.name, $0.value.json) })),
      ("method", .text(listing.method.rawValue)), ("body", listing.body),
      ("records", .text(listing.records.description)), (Later.shape, .text(listing.shape.rawValue)),
      (Later.rowNames, .text(listing.rowNames.description)), ("ask", .boolean(asks)),
      ("key", .list(([listing.key] + listing.otherKeys).map { .text($0.description) })), ("pages", listing.pages.json),
    ]
    return .object((members + (isQuestion ? [] : times)).map { JSONValue.Member($0, $1) })
  }
}

extension Since.Overlap {
  fileprivate var json: JSONValue {
    switch self {
    case .time(let time): .text(time.text)
    case .number(let number): .integer(number)
    }
  }
}

extension Resource.Pages {
  fileprivate var json: JSONValue {
    let size: [(String, JSONValue?)] = [
      ("size", self.size.map { .integer($0.records) }), ("size_param", self.size?.param.map { .text($0.description) }),
      ("more", more.map { .text($0.description) }), ("done", done.map { .text($0.description) }),
      ("count", count.map { .text($0.description) }),
      ("short", .boolean(short)), ("beyond", .list(beyond.map { JSONValue.integer($0) })),
      // Defaults are left out, so that an upgrade changes no stored definition.
      ("empty", empty == .noSign ? nil : .text(empty.rawValue)), ("omits_false", omitsFalse ? .boolean(true) : nil),
      ("hidden", hidden ? .boolean(true) : nil),
    ]
    let value = style.placeholder.flatMap { self.value?.filled(with: $0) }
    return .object(
      (style.members + [(FeedFree.value, value.map(JSONValue.text))] + size).compactMap { name, value in
        value.map { JSONValue.Member(name, $0) }
      })
  }
}

extension Resource.Style {
  fileprivate var members: [(String, JSONValue?)] { [("style", .text(name))] + own }

  private var own: [(String, JSONValue?)] {
    switch self {
    case .number(let param, let first, let last):
      [("param", .text(param.description)), ("first", .integer(first)), ("last", last.map { .text($0.description) })]
    case .offset(let param, let first): [("param", .text(param.description)), ("first", .integer(first))]
    case .cursor(let param, let start, let at):
      [("param", .text(param.description)), ("start", start.map(JSONValue.text)), ("at", .text(at.description))]
    case .next(let at): [("at", .text(at.description))]
    case .after(let param, let at): [("param", .text(param.description)), ("at", .text(at.description))]
    case .link, .one, .record: []
    }
  }
}
