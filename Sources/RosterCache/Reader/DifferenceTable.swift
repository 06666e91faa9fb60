internal import RosterCore
internal import RosterDecode

/// Writes the differences of a resource into a temporary table. All are then found before the first is reported, and
/// need not fit into memory. The statements that write the JSON for `changes` also write this JSON.
struct DifferenceTable {
  static let create = """
    CREATE TABLE temp.differences(id INTEGER PRIMARY KEY, resource INTEGER NOT NULL, kind TEXT NOT NULL,
      key TEXT NOT NULL, fields TEXT NOT NULL, before TEXT, after TEXT, "of" TEXT, with_parent INTEGER NOT NULL);
    CREATE INDEX temp.differences_by_resource ON differences(resource);
    CREATE INDEX temp.differences_by_kind ON differences(resource, kind);
    """

  /// The list of a child: JSON list of the keys of the ancestors, and the record id of the parent.
  struct Owner {
    var path: String
    var parent: Int64
  }

  /// The list that the next differences are in; nil for the only list of a resource.
  var owner: Owner?

  private let tables: ResourceTables
  private let index: Int
  private let insert: Statement
  private let document: RecordDocument
  /// nil if the snapshot has no such table.
  private let json: Statement?

  init(_ database: Database, tables: ResourceTables, index: Int, isInSnapshot: Bool) throws {
    self.tables = tables
    self.index = index
    insert = try database.statement(
      "INSERT INTO temp.differences(resource, kind, key, fields, before, after, \"of\", with_parent) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
    )
    document = RecordDocument(tables)
    json = isInSnapshot ? try database.statement(tables.json) : nil
  }

  func added(_ decoder: inout RecordDecoder) throws {
    try write(.init(kind: .added, key: key(&decoder), after: json(of: &decoder)))
  }

  func changed(_ decoder: inout RecordDecoder, by difference: RecordDifference) throws {
    let (before, after) = (try stored(difference.id), json(of: &decoder))
    let columns = difference.columns.map { tables.resource.columns[$0].name }
    let extra = difference.extra ? ExtraDifference.paths(before, after: after) : []
    let lists = difference.lists.map { tables.listName(tables.resource.lists[$0]) }
    try write(
      .init(
        kind: .changed, key: key(&decoder), fields: columns + extra + lists, before: before, after: after))
  }

  /// - Parameter isWithParent: True if it goes because its parent does.
  func removed(_ id: Int64, isWithParent: Bool = false) throws {
    let before = try stored(id)
    var record = PendingRecord(kind: .removed, key: try key(of: before), before: before)
    record.isWithParent = isWithParent
    try write(record)
  }

  /// Notes a record that this pull misses for the first time, which is not a change yet.
  func absent(_ id: Int64) throws {
    let before = try stored(id)
    try write(PendingRecord(kind: .removed, key: try key(of: before), before: before), as: Self.absent)
  }

  private static let absent = "absent"

  /// The key of a detail is that of its parent.
  private var keyOfDetail: String? {
    guard tables.resource.isDetail, let owner, case .list(let keys)? = try? JSONValue(json: owner.path.utf8) else {
      return nil
    }
    return JSONWriter(keys.last ?? .null).text
  }

  private func key(of record: String) throws -> String {
    if let keyOfDetail { return keyOfDetail }
    let record = try JSONValue(json: record.utf8)
    let parts = tables.keyParts.map { record[tables.resource.columns[$0].name] ?? .null }
    return JSONWriter(tables.resource.hasCompositeKey ? .list(parts) : parts[0]).text
  }

  /// The record at the decoder's position as the publication would store it.
  private func json(of decoder: inout RecordDecoder) -> String {
    document.write(&decoder, below: owner?.parent ?? 0)
    return String(decoding: document.bytes, as: UTF8.self)
  }

  /// A composite key is already JSON.
  private func key(_ decoder: inout RecordDecoder) -> String {
    if let keyOfDetail { return keyOfDetail }
    guard tables.resource.hasCompositeKey, case .text(let key) = decoder.key else { return decoder.key.json }
    return String(decoding: key, as: UTF8.self)
  }

  private func stored(_ id: Int64) throws -> String {
    guard let found = try json?.rows([.integer(id)], limit: 1, read: { $0.text(0) }).first else {
      throw SQLiteError.damaged("the record \(id) of \(tables.resource.name) is not there")
    }
    return found
  }

  private func write(_ record: PendingRecord, as kind: String? = nil) throws {
    try insert.run([
      Value(index), .text(kind ?? record.kind.rawValue), .text(record.key),
      .text(JSONWriter(.list(record.fields.map(JSONValue.text))).text),
      Value(record.before), Value(record.after), Value(owner?.path), Value(record.isWithParent),
    ])
  }

  /// Goes over the differences in the order in which the publication writes them.
  static func forEach(
    _ database: Database, index: Int, kind: ChangeKind?, body: (PendingRecord) throws -> Void
  ) throws {
    try forEachRow(database, index: index, kind: kind?.rawValue) { row in
      guard let kind = ChangeKind(rawValue: row.text(0)) else { return }
      var record = PendingRecord(
        kind: kind, key: row.text(1), of: row.optionalText(5), fields: try fields(row.text(2)),
        before: row.optionalText(3), after: row.optionalText(4))
      record.isWithParent = row.int(6) != 0
      try body(record)
    }
  }

  private static func fields(_ json: String) throws -> [String] {
    guard case .list(let names) = try JSONValue(json: json.utf8) else { return [] }
    return names.compactMap { if case .text(let name) = $0 { name } else { nil } }
  }

  /// Goes over the absent records in the order of record ids.
  static func forEachAbsent(_ database: Database, index: Int, body: (AbsentRecord) throws -> Void) throws {
    try forEachRow(database, index: index, kind: absent) { row in
      try body(AbsentRecord(key: row.text(1), of: row.optionalText(5), record: row.text(3)))
    }
  }

  private static func forEachRow(
    _ database: Database, index: Int, kind: String?, body: (Row) throws -> Void
  ) throws {
    try database.statement(
      """
      SELECT kind, key, fields, before, after, "of", with_parent FROM temp.differences
      WHERE resource = ?1 \(kind == nil ? "" : "AND kind = ?2") ORDER BY id
      """
    ).forEach([Value(index)] + (kind.map { [.text($0)] } ?? []), body: body)
  }
}

extension RecordKey {
  fileprivate var json: String {
    var json = JSONWriter()
    switch self {
    case .integer(let number): json.value(number)
    case .text(let text): json.value(utf8: text)
    }
    return json.text
  }
}

/// Finds the fields of `extra` that differ between two records.
private enum ExtraDifference {
  /// Returns only `extra` if SQLite's JSON does not show the difference.
  static func paths(_ before: String, after: String) -> [String] {
    let (old, new) = (leaves(of: before), leaves(of: after))
    let (oldValues, newValues) = (values(of: old), values(of: new))
    let names = old.map(\.path) + new.map(\.path).filter { oldValues[Array($0.utf8)] == nil }
    let found = names.filter { oldValues[Array($0.utf8)] != newValues[Array($0.utf8)] }
    return found.isEmpty ? ["extra"] : found
  }

  /// The first value of each path, since a name with a dot can have the path of a member further inside.
  /// Paths are compared byte by byte.
  private static func values(of leaves: [(path: String, value: JSONValue)]) -> [[UInt8]: JSONValue] {
    Dictionary(leaves.map { (Array($0.path.utf8), $0.value) }) { first, _ in first }
  }

  private static func leaves(of record: String) -> [(path: String, value: JSONValue)] {
    guard let extra = try? JSONValue(json: record.utf8)["extra"], case .object(let members) = extra else { return [] }
    return leaves(of: members, below: "extra")
  }

  private static func leaves(
    of members: [JSONValue.Member], below path: String
  ) -> [(path: String, value: JSONValue)] {
    members.flatMap { member in
      let path = "\(path).\(member.name)"
      guard case .object(let inner) = member.value, !inner.isEmpty else { return [(path, member.value)] }
      return leaves(of: inner, below: path)
    }
  }
}
