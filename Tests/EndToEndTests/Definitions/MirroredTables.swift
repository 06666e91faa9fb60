import RosterCore
import RosterDecode
import Testing

/// The expected rows of a definition's tables, computed from JSON trees independently of rosterd.
struct MirroredTables {
  struct Column {
    var name: String
    var at: [String]
    var type: String
    var isNullable: Bool
  }

  struct List {
    var table: String
    var at: [String]
    var columns: [Column]
    var hasExtra: Bool { columns.contains { !$0.at.isEmpty } }
  }

  let name: String
  let table: String
  let columns: [Column]
  let lists: [List]
  let search: [String]
  let keyColumn: String
  let hasTextKey: Bool
  private let conditions: [(at: [String], test: JSONValue)]

  /// - Parameter definition: of `resources`.
  init(_ name: String, definition: JSONValue) throws {
    self.name = name
    table = try #require(definition["table"]?.text)
    columns = try Self.columns(definition["columns"])
    lists = try definition.members("lists").map { list in
      List(table: list.name, at: try list.value["at"].segments, columns: try Self.columns(list.value["columns"]))
    }
    search = definition["search"]?.elements.compactMap(\.text) ?? []
    conditions = try definition.members("where").map { (try #require(JSONPointer($0.name)).segments, $0.value) }
    let key = try definition["key"].segments
    let column = try #require(columns.first { $0.at == key })
    keyColumn = column.name
    hasTextKey = column.type == "text"
  }

  private static func columns(_ json: JSONValue?) throws -> [Column] {
    guard case .object(let members)? = json else { return [] }
    return try members.map { member in
      Column(
        name: member.name, at: try member.value["at"].segments, type: member.value["type"]?.text ?? "",
        isNullable: member.value["null"] == .boolean(true))
    }
  }

  /// True if the conditions of `where` are fulfilled.
  func takes(_ record: JSONValue) -> Bool {
    conditions.allSatisfy { at, test in
      let value = record.at(at)
      return switch test {
      case .text("absent"): value == nil
      case .text("present"): value != nil
      case .object(let members) where members.map(\.name) == ["not"]:
        !members[0].value.elements.contains(value ?? .null)
      default: value == test
      }
    }
  }

  func key(_ record: JSONValue) -> String {
    columns.first { $0.name == keyColumn }.map { Self.cell($0, record: record) } ?? ""
  }

  /// Its columns, and `extra`.
  func row(_ record: JSONValue) -> [String] {
    columns.map { Self.cell($0, record: record) } + [extra(record).map(\.sortedText) ?? "NULL"]
  }

  /// Key, position, columns, and `extra` where the table has it.
  func rows(_ list: List, record: JSONValue) -> [[String]] {
    (record.at(list.at)?.elements ?? []).enumerated().map { position, element in
      let extra = list.hasExtra ? [element.without(list.columns.map(\.at)).map(\.sortedText) ?? "NULL"] : []
      return [key(record), "\(position)"] + list.columns.map { Self.cell($0, record: element) } + extra
    }
  }

  /// The record in the form of `changes`.
  func document(_ record: JSONValue) -> JSONValue {
    let lists = lists.map { list in
      let short = list.table.hasPrefix(name + "_") ? String(list.table.dropFirst(name.count + 1)) : list.table
      let isShort = !columns.contains { $0.name == short }
      return JSONValue.Member(isShort ? short : list.table, .list(elements(list, record: record)))
    }
    return .object(
      columns.map { .init($0.name, Self.value($0, record: record)) } + [.init("extra", extra(record) ?? .null)] + lists)
  }

  /// The words of the searched columns, in lower case.
  func words(_ record: JSONValue) -> Set<String> {
    let texts = columns.filter { search.contains($0.name) }.map { Self.cell($0, record: record) }
    return Set(texts.flatMap { $0.lowercased().split { !($0.isLetter || $0.isNumber) } }.map(String.init))
  }

  private func extra(_ record: JSONValue) -> JSONValue? {
    record.without(columns.map(\.at) + lists.map(\.at))
  }

  private func elements(_ list: List, record: JSONValue) -> [JSONValue] {
    (record.at(list.at)?.elements ?? []).map { element in
      guard list.hasExtra else { return element }
      let extra = element.without(list.columns.map(\.at)) ?? .null
      return .object(list.columns.map { .init($0.name, Self.value($0, record: element)) } + [.init("extra", extra)])
    }
  }

  private static func value(_ column: Column, record: JSONValue) -> JSONValue {
    record.at(column.at) ?? (column.type == "text" && !column.isNullable ? .text("") : .null)
  }

  private static func cell(_ column: Column, record: JSONValue) -> String {
    switch value(column, record: record) {
    case .null: "NULL"
    case .boolean(let flag) where column.type == "boolean": flag ? "1" : "0"
    case .text(let text) where column.type == "text": text
    case .number(let digits) where column.type == "integer": digits
    case let value: value.written
    }
  }
}

extension JSONValue {
  var elements: [JSONValue] { if case .list(let elements) = self { elements } else { [] } }

  var written: String {
    var json = JSONWriter()
    json.value(self)
    return json.text
  }

  /// The JSON with sorted member names.
  var sortedText: String { sorted.written }

  private var sorted: JSONValue {
    switch self {
    case .object(let members):
      .object(members.map { .init($0.name, $0.value.sorted) }.sorted { $0.name < $1.name })
    case .list(let elements): .list(elements.map(\.sorted))
    default: self
    }
  }

  func members(_ name: String) -> [Member] {
    if case .object(let members)? = self[name] { members } else { [] }
  }

  /// nil if the value is absent or null.
  func at(_ way: [String]) -> JSONValue? {
    guard let name = way.first else { return self == .null ? nil : self }
    if case .list(let elements) = self {
      guard let index = Int(name), elements.indices.contains(index) else { return nil }
      return elements[index].at(Array(way.dropFirst()))
    }
    return self[name]?.at(Array(way.dropFirst()))
  }

  /// The rest of an object without these places; nil if nothing remains.
  func without(_ places: [[String]]) -> JSONValue? {
    guard case .object(let members) = self else { return self == .null ? nil : self }
    let left = members.compactMap { member -> Member? in
      let below = places.filter { $0.first == member.name }.map { Array($0.dropFirst()) }
      if below.contains([]) { return nil }
      if below.isEmpty { return member }
      return member.value.without(below).map { Member(member.name, $0) }
    }
    return left.isEmpty ? nil : .object(left)
  }
}

extension JSONValue? {
  /// The segments of a JSON Pointer.
  fileprivate var segments: [String] {
    get throws { try #require(self?.text.flatMap { JSONPointer($0) }).segments }
  }
}

extension Site {
  /// Expects that the cache equals a mirror: rows, list rows, `extra`, and searchable words.
  func expectMirror(of world: World, _ api: PublicAPI) async throws {
    for tables in try await mirroredTables() {
      let kind = try #require(api.kinds.first { $0.resources.contains(tables.name) })
      let records = world.mirrored(kind.name).filter(tables.takes)
      #expect(!records.isEmpty)
      let columns = tables.columns.map { "\"\($0.name)\"" } + ["extra"]
      let found = try await rows("SELECT \(columns.joined(separator: ", ")) FROM \(tables.table)").map(Self.sortedExtra)
      expectSame(found, expected: records.map(tables.row), what: tables.table)
      for list in tables.lists { try await expectList(list, tables: tables, records: records) }
      try await expectWords(tables, records: records)
    }
  }

  func mirroredTables() async throws -> [MirroredTables] {
    try await rows("SELECT name, definition FROM resources").map { row in
      try MirroredTables(row[0], definition: try JSONValue(json: row[1].utf8))
    }
  }

  private func expectList(
    _ list: MirroredTables.List, tables: MirroredTables, records: [JSONValue]
  ) async throws {
    let columns = list.columns.map { ", l.\"\($0.name)\"" }.joined() + (list.hasExtra ? ", l.extra" : "")
    let id = tables.hasTextKey ? "record_id" : tables.keyColumn
    let found = try await rows(
      """
      SELECT t.\(tables.keyColumn), l.position\(columns) FROM \(list.table) l
      JOIN \(tables.table) t ON t.\(id) = l.\(tables.name)_id
      """)
    expectSame(
      try list.hasExtra ? found.map(Self.sortedExtra) : found,
      expected: records.flatMap { tables.rows(list, record: $0) }, what: list.table)
    // No list rows of removed records are left.
    #expect(try await rows("SELECT count(*) FROM \(list.table)") == [["\(found.count)"]])
  }

  /// Expects that every word finds exactly the records that contain it.
  private func expectWords(_ tables: MirroredTables, records: [JSONValue]) async throws {
    guard !tables.search.isEmpty else { return }
    let words = records.flatMap { record in tables.words(record).map { [$0, tables.key(record)] } }
    let values = Set(words.map { $0[0] }).map { "('\($0)')" }.joined(separator: ", ")
    let id = tables.hasTextKey ? "record_id" : tables.keyColumn
    let found = try await rows(
      """
      WITH w(word) AS (VALUES \(values))
      SELECT w.word, t.\(tables.keyColumn) FROM w CROSS JOIN \(tables.table)_fts f ON f.\(tables.table)_fts MATCH
        '"' || w.word || '"' JOIN \(tables.table) t ON t.\(id) = f.rowid
      """)
    expectSame(found, expected: words, what: "\(tables.table)_fts")
  }

  /// Expects the rows of `changes` between two times: each added, changed or removed record with its old and new state.
  func expectChanges(from earlier: World, to later: World, _ api: PublicAPI) async throws {
    var expected: [[String]] = []
    for tables in try await mirroredTables() {
      let kind = try #require(api.kinds.first { $0.resources.contains(tables.name) })
      func documents(_ world: World) -> [String: String] {
        let records = world.mirrored(kind.name).filter(tables.takes)
        return Dictionary(records.map { (tables.key($0), tables.document($0).sortedText) }) { $1 }
      }
      let (before, after) = (documents(earlier), documents(later))
      for key in Set(before.keys).union(after.keys) where before[key] != after[key] {
        let kind = before[key] == nil ? "added" : after[key] == nil ? "removed" : "changed"
        expected.append([tables.name, kind, before[key] ?? "NULL", after[key] ?? "NULL"])
      }
    }
    let found = try await rows("SELECT resource, kind, before, after FROM changes").map { row in
      try Array(row.prefix(2)) + row.dropFirst(2).map { $0 == "NULL" ? $0 : try JSONValue(json: $0.utf8).sortedText }
    }
    expectSame(found, expected: expected, what: "changes")
  }

  private func expectSame(_ found: [[String]], expected: [[String]], what: String) {
    #expect(found.count == expected.count, "\(what)")
    let differs = zip(found.sorted(by: Self.precedes), expected.sorted(by: Self.precedes)).first { $0 != $1 }
    #expect(differs == nil, "\(what)")
  }

  private static func precedes(_ one: [String], _ other: [String]) -> Bool { one.lexicographicallyPrecedes(other) }

  /// The last cell is the JSON of `extra`.
  private static func sortedExtra(_ row: [String]) throws -> [String] {
    guard let extra = row.last, extra != "NULL" else { return row }
    return row.dropLast() + [try JSONValue(json: extra.utf8).sortedText]
  }
}
