internal import RosterJSON
internal import RosterModel

extension Resource {
  /// `resources.definition`: the JSON of `[resource.NAME]` as the contract has it, defaults filled in.
  var definition: String { definition(withAudit: true) }

  /// The same without the keys that may change without another feed (C3.2). Pages that were pulled by an equal one are
  /// read in the same way.
  var feedDefinition: String { definition(withAudit: false) }

  /// True if a stored definition differs at most in keys that may change without another feed.
  func hasFeed(of definition: String) -> Bool {
    if definition == self.definition { return true }
    guard case .object(let stored)? = try? JSONValue(json: definition.utf8) else { return false }
    let own = try? JSONValue(json: feedDefinition.utf8)
    return own == .object(stored.filter { $0.name != Self.auditKey && $0.name != Self.sinceKey })
  }

  /// What an incremental pull asks, and what a pull looks for to set the mark. `overlap` and `whole_every` are no part of
  /// it (I1.1). nil without `since`.
  var sinceQuestion: String? {
    guard let since else { return nil }
    var json = JSONWriter()
    json.value(since.json(isQuestion: true))
    return json.text
  }

  private static let sinceKey = "since"

  private static let auditKey = "audit_every"

  private func definition(withAudit: Bool) -> String {
    var json = JSONWriter()
    json.object { json in
      json.member("path", path)
      json.name("query")
      json.object { json in for parameter in query { json.member(parameter.name, parameter.value.json) } }
      json.member("method", method.rawValue)
      json.member("body", body)
      json.member("records", records.description)
      json.member("key", key.description)
      json.member("table", table)
      json.name("where")
      json.object { json in for condition in conditions { json.member(condition.at.description, condition.test.json) } }
      json.member("search", .list(search.map(JSONValue.text)))
      json.member("by_key", byKey ?? "")
      json.member("removal", removal.rawValue)
      json.member("max_removal", maxRemoval.map { JSONValue.integer($0) } ?? .null)
      if withAudit { json.member(Self.auditKey, auditEvery?.text ?? "never") }
      if withAudit, let since { json.member(Self.sinceKey, since.json(isQuestion: false)) }
      json.member("pages", pages.json)
      json.member("columns", columns.json)
      json.name("lists")
      json.object { json in
        for list in lists {
          json.member(
            list.table, .object([.init("at", .text(list.at.description)), .init("columns", list.columns.json)]))
        }
      }
    }
    return json.text
  }

  /// Of which list it is (P8): where that is another one, who is missing is not missed.
  var listed: String {
    let parts: [JSONValue] = [
      .text(path), .text(key.description), .text(records.description),
      .object(conditions.map { .init($0.at.description, $0.test.json) }),
    ]
    var json = JSONWriter()
    json.value(.list(parts))
    return json.text
  }
}

extension ResourceTables {
  /// Of a definition as the table `resources` keeps it: what makes tables is read, how the resource is pulled is not.
  /// Throws `SQLiteError` (damaged) where it is none that rosterd wrote.
  init(name: String, definition: String) throws {
    guard let json = try? JSONValue(json: definition.utf8), let resource = Resource(name: name, tablesOf: json),
      resource.keyColumn != nil
    else { throw SQLiteError.damaged("the definition of \(name) cannot be read") }
    try self.init(resource)
  }
}

extension Resource {
  fileprivate init?(name: String, tablesOf json: JSONValue) {
    guard let path = json["path"]?.text, let key = json["key"]?.pointer, let table = json["table"]?.text,
      case .list(let search)? = json["search"], let columns = [Column](json["columns"]),
      case .object(let lists)? = json["lists"]
    else { return nil }
    self.init(
      name: name, path: path, key: key, table: table, search: search.compactMap(\.text), columns: columns,
      lists: lists.compactMap(List.init))
    guard self.lists.count == lists.count, self.search.count == search.count else { return nil }
  }
}

extension Resource {
  /// The same, and what says how pulled records are read and held against the snapshot; not how they are asked for.
  /// nil where it is none that rosterd wrote.
  init?(name: String, pulledBy definition: String) {
    guard let json = try? JSONValue(json: definition.utf8), let records = json["records"]?.pointer,
      case .object(let conditions)? = json["where"],
      let removal = json["removal"]?.text.flatMap(Removal.init(rawValue:))
    else { return nil }
    self.init(name: name, tablesOf: json)
    self.records = records
    self.removal = removal
    self.conditions = conditions.compactMap(Condition.init)
    guard self.conditions.count == conditions.count, keyColumn != nil else { return nil }
  }
}

extension Resource.Condition {
  fileprivate init?(_ member: JSONValue.Member) {
    guard let at = JSONPointer(member.name) else { return nil }
    switch member.value {
    case .text("absent"): self.init(at, .absent)
    case .text("present"): self.init(at, .present)
    case .text(let text): self.init(at, .equal(.text(text)))
    case .boolean(let flag): self.init(at, .equal(.boolean(flag)))
    case .number(let digits):
      guard let value = Double(digits) else { return nil }
      self.init(at, .equal(Int64(digits).map { .integer($0) } ?? .real(value)))
    case .null, .list, .object: return nil
    }
  }
}

extension Resource.List {
  fileprivate init?(_ member: JSONValue.Member) {
    guard let at = member.value["at"]?.pointer, let columns = [Resource.Column](member.value["columns"]) else {
      return nil
    }
    self.init(table: member.name, at: at, columns: columns)
  }
}

extension Resource.Column {
  fileprivate init?(_ member: JSONValue.Member) {
    guard let at = member.value["at"]?.pointer,
      let type = member.value["type"]?.text.flatMap(Resource.ColumnType.init(rawValue:))
    else { return nil }
    self.init(member.name, at: at, type, isNullable: type == .text && member.value["null"] == .boolean(true))
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
}

extension [Resource.Column] {
  fileprivate var json: JSONValue {
    .object(
      map { column in
        let members: [JSONValue.Member] = [
          .init("at", .text(column.at.description)), .init("type", .text(column.type.rawValue)),
          .init("null", .boolean(column.isNullable || column.type != .text)),
        ]
        return JSONValue.Member(column.name, .object(members))
      })
  }
}

extension Resource.Scalar {
  fileprivate var json: JSONValue {
    switch self {
    case .text(let text): .text(text)
    case .integer(let number): .integer(number)
    case .real(let number): .number(number.description)
    case .boolean(let flag): .boolean(flag)
    }
  }
}

extension Resource.Condition.Test {
  fileprivate var json: JSONValue {
    switch self {
    case .absent: .text("absent")
    case .present: .text("present")
    case .equal(let value): value.json
    }
  }
}

extension Since {
  fileprivate func json(isQuestion: Bool) -> JSONValue {
    let times: [(String, JSONValue)] = [
      ("overlap", overlap.json), ("whole_every", .text(wholeEvery?.text ?? "never")),
    ]
    let members: [(String, JSONValue)] = [
      ("at", .text(at.description)), ("param", .text(param.description)), ("value", .text(value)),
      ("form", .text(form.rawValue)), ("zone", zone.map { .integer($0) } ?? .null), ("from", from.map(JSONValue.text) ?? .null),
      ("path", .text(listing.path)), ("query", .object(listing.query.map { .init($0.name, $0.value.json) })),
      ("method", .text(listing.method.rawValue)), ("body", listing.body),
      ("records", .text(listing.records.description)), ("pages", listing.pages.json),
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
      ("more", more.map { .text($0.description) }), ("count", count.map { .text($0.description) }),
      ("short", .boolean(short)), ("beyond", .list(beyond.map { JSONValue.integer($0) })),
    ]
    return .object((style.members + size).compactMap { name, value in value.map { JSONValue.Member(name, $0) } })
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
    case .link, .one: []
    }
  }
}
