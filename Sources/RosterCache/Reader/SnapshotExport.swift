package import RosterCore

/// One snapshot of a cache, row by row, for a program that copies it to another database.
package struct SnapshotExport {
  /// Which rows of a table are read.
  package enum Scope: Sendable, Equatable {
    case all
    /// Rows of records that `changes` names after this id.
    case changed(after: Int64)
    /// Rows of an appended table from that value of its increasing column on.
    case from(Int64)
  }

  /// Place of this snapshot in the feed.
  package let position: ReplicaPosition
  /// Smallest `changes.id`; nil if `changes` is empty.
  package let earliestChange: Int64?
  /// `cache_info.verified_at`; nil before the first publication.
  package let verifiedAt: String?
  /// `cache_info.published_at`; nil before the first publication.
  package let publishedAt: String?
  /// `cache_info.upstream`; nil before the first publication.
  package let upstream: String?
  /// Tables for readers, the records of a resource before the elements of their lists.
  package let tables: [ReplicaTable]
  private let database: Database

  fileprivate init(_ database: Database) throws {
    self.database = database
    let facts = try database.first("SELECT feed, snapshot, verified_at, published_at, upstream FROM main.cache_info") {
      (
        feed: $0.text(0), snapshot: $0.optionalInteger(1) ?? 0, verified: $0.optionalText(2),
        published: $0.optionalText(3), upstream: $0.optionalText(4)
      )
    }
    guard let facts else { throw SQLiteError.damaged("cache_info is empty") }
    let changes = try database.changeIDs()
    let lastSync = try database.first("SELECT coalesce(max(id), 0) FROM main.syncs") { $0.integer(0) }
    let running = try database.first("SELECT min(id) FROM main.syncs WHERE outcome = 'running'") {
      $0.optionalInteger(0)
    }
    position = ReplicaPosition(
      feed: facts.feed, change: changes.last ?? 0, snapshot: facts.snapshot,
      sync: (running ?? nil) ?? (lastSync ?? 0) + 1)
    earliestChange = changes.first
    verifiedAt = facts.verified
    publishedAt = facts.published
    upstream = facts.upstream
    tables = try Self.tables(database)
  }

  /// Rows of `syncs`. `history` keeps single rows that are older than the expired ones. They stay while a longer
  /// `history` applies.
  package func keptSyncs() throws -> KeptRows {
    let oldest = try database.rows("SELECT id FROM main.syncs ORDER BY id LIMIT ?1", .integer(Self.maxSingleRows)) {
      $0.integer(0)
    }
    let first = oldest.indices.dropFirst().last { oldest[$0 - 1] + 1 < oldest[$0] } ?? 0
    return KeptRows(first: oldest.dropFirst(first).first, others: Array(oldest.prefix(first)))
  }

  /// `history` keeps two rows at a time; it is rarely changed.
  private static let maxSingleRows: Int64 = 16

  /// End of the first sync after that id which published a snapshot; nil if none did, or its row has expired.
  package func oldestPublication(after sync: Int64) throws -> String? {
    try database.first(
      "SELECT finished_at FROM main.syncs WHERE id > ?1 AND outcome = 'published' ORDER BY id LIMIT 1", .integer(sync)
    ) { $0.text(0) }
  }

  /// Names of the resources that `changes` mentions after that id.
  package func changedResources(after change: Int64) throws -> Set<String> {
    Set(
      try database.rows("SELECT DISTINCT resource FROM main.cache_changes NOT INDEXED WHERE id > ?1", .integer(change))
      {
        $0.text(0)
      })
  }

  /// Record ids that `changes` names after that id, each once.
  package func changedRecords(of resource: String, after change: Int64, _ body: (Int64) throws -> Void) throws {
    let statement = try database.once(
      "SELECT DISTINCT record_id FROM main.cache_changes WHERE id > ?1 AND +resource = ?2")
    statement.bind(1, change)
    statement.bind(2, .text(resource))
    while try statement.step() { try body(statement.row.integer(0)) }
  }

  /// Calls `body` with the values of each row, in the order of the table's columns.
  package func rows(of table: ReplicaTable, _ scope: Scope, body: ([FieldValue]) throws -> Void) throws {
    let statement = try database.once(Self.select(table, scope: scope))
    switch scope {
    case .all: break
    case .from(let id): statement.bind(1, id)
    case .changed(let change):
      statement.bind(1, change)
      if case .records(let resource) = table.role { statement.bind(2, .text(resource)) }
      if case .elements(let resource, _, _) = table.role { statement.bind(2, .text(resource)) }
    }
    var values: [FieldValue] = []
    values.reserveCapacity(table.columns.count)
    while try statement.step() {
      values.removeAll(keepingCapacity: true)
      for (index, column) in table.columns.enumerated() {
        values.append(statement.row.value(Int32(index), type: column.type))
      }
      try body(values)
    }
  }

  /// `changes` is read by its primary key, and so is each table. The plus prevents SQLite from using the index that
  /// begins with `resource`, with which it would read the whole history.
  static func select(_ table: ReplicaTable, scope: Scope) -> String {
    let columns = table.columns.map { "t.\(quoted($0.name))" }.joined(separator: ", ")
    let from = "main.\(quoted(table.name)) t"
    switch scope {
    case .all: return "SELECT \(columns) FROM \(from)"
    case .from:
      guard case .appended(let column) = table.role else { return "SELECT \(columns) FROM \(from)" }
      return "SELECT \(columns) FROM \(from) WHERE t.\(quoted(column)) >= ?1"
    case .changed:
      let changed = "(SELECT DISTINCT record_id FROM main.cache_changes WHERE id > ?1 AND +resource = ?2) c"
      return "SELECT \(columns) FROM \(changed) CROSS JOIN \(from) ON t.\(quoted(recordColumn(table))) = c.record_id"
    }
  }

  private static func recordColumn(_ table: ReplicaTable) -> String {
    if case .elements(_, _, let owner) = table.role { return owner }
    return table.primaryKey.first ?? "rowid"
  }

  // MARK: Tables

  private static func tables(_ database: Database) throws -> [ReplicaTable] {
    let fixed: [ReplicaTable] = [
      try table(database, name: "resources", key: ["name"], role: .whole),
      try table(database, name: "cache_info", key: ["feed"], role: .whole),
      try table(database, name: "resource_lists", key: ["resource", "parent_id"], role: .whole),
      try table(database, name: "syncs", key: ["id"], role: .appended(by: "id")),
      try table(database, name: "sync_resources", key: nil, role: .appended(by: "sync_id")),
      try table(database, name: "changes", storedIn: "cache_changes", key: ["id"], role: .appended(by: "id")),
      // The documents of rejected records may have what a definition leaves out on purpose.
      try table(database, name: "rejects", key: nil, without: "document", role: .whole),
    ]
    return try fixed + Schema(of: database).tables.flatMap { try tables(database, resource: $0.resource) }
  }

  private static func tables(_ database: Database, resource: Resource) throws -> [ReplicaTable] {
    let types = resource.columns.reduce(into: [String: ReplicaTable.ColumnType]()) { $0[$1.name] = $1.type.replica }
    let records = try table(
      database, name: resource.table, key: nil, role: .records(resource: resource.name), types: types)
    let elements = try resource.lists.map { list in
      let types = list.columns.reduce(into: [String: ReplicaTable.ColumnType]()) { $0[$1.name] = $1.type.replica }
      return try table(
        database, name: list.table, key: nil,
        role: .elements(resource: resource.name, records: resource.table, owner: resource.name + "_id"), types: types)
    }
    return [records] + elements
  }

  /// - Parameters:
  ///   - stored: The table that has the rows of a view, perhaps with more columns; nil for a table.
  ///   - key: The columns of the primary key; nil if the table of SQLite has the same primary key.
  ///   - omitted: A column that is not copied.
  ///   - types: Types by column, for columns whose type in SQLite is not sufficient.
  private static func table(
    _ database: Database, name: String, storedIn stored: String? = nil, key: [String]?,
    without omitted: String? = nil, role: ReplicaTable.Role,
    types: [String: ReplicaTable.ColumnType] = [:]
  ) throws -> ReplicaTable {
    let found = try database.rows(
      """
      SELECT name, type, "notnull", pk FROM pragma_table_info(?2, 'main')
      WHERE name IN (SELECT name FROM pragma_table_info(?1, 'main')) ORDER BY cid
      """, .text(name), .text(stored ?? name)
    ) { (name: $0.text(0), type: $0.text(1), isRequired: $0.int(2) == 1, place: $0.int(3)) }
    let columns = found.filter { $0.name != omitted }.map { column in
      ReplicaTable.Column(
        name: column.name, type: types[column.name] ?? fixedType(column.name, declared: column.type),
        isRequired: column.isRequired || column.place > 0)
    }
    let known = found.filter { $0.place > 0 }.sorted { $0.place < $1.place }.map(\.name)
    return ReplicaTable(
      name: name, columns: columns, primaryKey: key ?? known, unique: try unique(database, name: name), role: role)
  }

  private static func unique(_ database: Database, name: String) throws -> [[String]] {
    let indexes = try database.rows(
      "SELECT name FROM pragma_index_list(?1, 'main') WHERE origin = 'u' ORDER BY seq", .text(name)
    ) { $0.text(0) }
    return try indexes.map { index in
      try database.rows("SELECT name FROM pragma_index_info(?1, 'main') ORDER BY seqno", .text(index)) { $0.text(0) }
    }
  }

  /// Type of a column that no definition names.
  private static func fixedType(_ column: String, declared: String) -> ReplicaTable.ColumnType {
    switch column {
    case "started_at", "finished_at", "at", "published_at", "verified_at", "distrusted_since", "whole_at": .timestamp
    case "definition", "before", "after", "extra": .jsonb
    case "schema_version", "snapshot", "records", "pages": .bigint
    default: declared == "INTEGER" ? .bigint : .text
    }
  }
}

extension CacheReader {
  /// Calls `body` with the snapshot within one read transaction: everything that `body` reads belongs together.
  package func export<Result>(_ body: (SnapshotExport) throws -> Result) throws -> Result {
    try read { try body(try SnapshotExport(database)) }
  }
}

extension Row {
  fileprivate func value(_ column: Int32, type: ReplicaTable.ColumnType) -> FieldValue {
    if isNull(column) { return .null }
    return switch type {
    case .bigint: .integer(integer(column))
    case .double: .real(real(column))
    case .boolean: .boolean(integer(column) != 0)
    case .text, .timestamp: .text(utf8(column))
    case .jsonb: .json(utf8(column))
    }
  }
}
