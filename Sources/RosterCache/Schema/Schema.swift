internal import RosterCore

/// Version 4 of the schema: the fixed tables, and the tables of the definitions.
struct Schema {
  /// "ROST", at byte 68 of the file (sqlite.org/fileformat2.html#application_id).
  static let applicationID: UInt32 = 0x524F_5354
  /// `user_version`. Rosterd 0.1 wrote version 1, 0.2 wrote 2, and builds before the release of 0.3 wrote 3 and 4
  /// with other columns. No rows are converted: a cache of an older version is replaced (`OlderCache`).
  static let version = 5
  /// Four times SQLite's default. Each page is written to the log in two calls, so that a first snapshot of 5,000 pages
  /// takes a tenth less CPU time. A small cache is still below 1 MiB.
  static let pageBytes = 16_384
  let tables: [ResourceTables]

  init(_ tables: [ResourceTables]) { self.tables = tables }

  init(_ resources: [Resource]) throws { tables = try resources.map { try ResourceTables($0) } }

  /// Reads the schema of a cache, whatever the configuration says now.
  init(of database: Database) throws {
    tables = try database.definitions().map { try ResourceTables(name: $0, definition: $1) }
  }

  /// Throws an error (damaged) if a table is missing, which only another program can have caused.
  static func look(_ database: Database) throws {
    let found = Set(try database.rows("SELECT name FROM main.sqlite_schema") { $0.text(0) })
    func expect(_ names: [String]) throws {
      for name in names where !found.contains(name) { throw SQLiteError.damaged("\(name) is missing") }
    }
    try expect(ReservedNames.tables.sorted())
    try expect(Schema(of: database).tables.flatMap(\.requiredNames))
  }

  /// Creates the schema in an empty file, in one transaction.
  func create(_ database: Database) throws {
    try database.transaction {
      for statement in FixedTables.create { try database.execute(statement) }
      for table in tables { try add(table, to: database) }
      try defineRemoved(database)
      try database.execute("PRAGMA user_version = \(Self.version)")
    }
  }

  /// Adds a resource: its empty tables and its row.
  func add(_ table: ResourceTables, to database: Database) throws {
    for statement in table.create { try database.execute(statement) }
    try RecordIDs.goOn(table, in: database)
    try introduce(table, in: database)
  }

  /// Drops a resource: its tables and its rows. Its rows in `changes` are kept.
  func drop(_ name: String, in database: Database) throws {
    let definition = try database.first("SELECT definition FROM main.resources WHERE name = ?", .text(name)) {
      $0.text(0)
    }
    if let definition {
      let table = try ResourceTables(name: name, definition: definition)
      try RecordIDs.note(table, in: database)
      for statement in table.drop { try database.execute(statement) }
    }
    try dropLists(of: name, database)
    try database.run("DELETE FROM main.cache_resources WHERE name = ?", .text(name))
    try database.run("DELETE FROM main.rejects WHERE resource = ?", .text(name))
    try database.run("DELETE FROM main.resources WHERE name = ?", .text(name))
  }

  /// Drops all lists of a resource, with their pages.
  func dropLists(of name: String, _ database: Database) throws {
    let lists =
      "SELECT l.id FROM main.cache_resources c JOIN main.cache_lists l ON l.resource_id = c.id WHERE c.name = ?1"
    for table in ["cache_pages", "cache_unlisted", "cache_overlaid"] {
      try database.run("DELETE FROM main.\(table) WHERE list_id IN (\(lists))", .text(name))
    }
    try database.run("DELETE FROM main.cache_lists WHERE id IN (\(lists))", .text(name))
  }

  func introduce(_ table: ResourceTables, in database: Database) throws {
    let resource = table.resource
    try database.run(
      """
      INSERT INTO main.resources(name, "table", key, records, pages, definition, parent)
      VALUES (?1, ?2, ?3, 0, 0, ?4, ?5)
      """, .text(resource.name), .text(resource.table), .text(table.keyName), .text(resource.definition),
      Value(resource.each?.parent))
    try database.run("INSERT INTO main.cache_resources VALUES (NULL, ?1, NULL, NULL)", .text(resource.name))
    // A child gets the list of each parent when that list is published.
    if resource.each == nil { _ = try ListID(adding: resource.name, parent: 0, database) }
  }

  func defineRemoved(_ database: Database) throws {
    for statement in FixedTables.removed(tables) { try database.execute(statement) }
  }
}

extension Database {
  /// The stored definitions of the resources, in the order in which they were added.
  func definitions() throws -> [(name: String, definition: String)] {
    try rows("SELECT name, definition FROM main.resources ORDER BY rowid") { ($0.text(0), $0.text(1)) }
  }
}

/// The settings of `each` by which the lists of a child were chosen and requested last.
enum ListRules {
  /// If these settings have changed, the stored times say nothing about the next request of a list. The next sync
  /// then requests each list of the child. A list that it does not pull stays due.
  static func apply(_ schema: Schema, to database: Database) throws {
    for (name, definition) in try database.definitions() {
      guard let tables = schema.tables.first(where: { $0.resource.name == name }), !tables.isWaiting,
        !tables.resource.hasListRules(of: definition)
      else { continue }
      try database.transaction { try renew(tables.resource, in: database) }
    }
  }

  private static func renew(_ resource: Resource, in database: Database) throws {
    try database.run(
      """
      UPDATE main.cache_lists SET due_at = min(coalesce(due_at, 0), 0)
      WHERE resource_id = (SELECT id FROM main.cache_resources WHERE name = ?1)
      """, .text(resource.name))
    try database.run(
      "UPDATE main.resources SET definition = ?2 WHERE name = ?1", .text(resource.name), .text(resource.definition))
  }
}

/// Ensures that a record id is never given to another key. An integer key is its own record id. A text key
/// gets the next number, and the highest number is kept when the table is dropped.
enum RecordIDs {
  /// Stores the highest record id of a table that will be dropped.
  static func note(_ tables: ResourceTables, in database: Database) throws {
    try database.run(
      """
      INSERT INTO main.cache_record_ids SELECT ?1, max(
        coalesce((SELECT max(\(tables.id)) FROM main.\(tables.table)), 0),
        coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = ?2), 0),
        coalesce((SELECT max(record_id) FROM main.changes WHERE resource = ?1), 0))
      WHERE true ON CONFLICT (resource) DO UPDATE SET highest = excluded.highest WHERE excluded.highest > highest
      """, .text(tables.resource.name), .text(tables.resource.table))
  }

  /// Continues with the stored ids in a new, empty table.
  static func goOn(_ tables: ResourceTables, in database: Database) throws {
    guard tables.hasOwnIDs else { return }
    // After the highest possible id, no other would be left (sqlite.org/autoinc.html). If earlier integer keys were
    // very large, the ids continue at half the range.
    try database.run(
      """
      INSERT INTO main.sqlite_sequence SELECT ?2, min(highest, ?3) FROM main.cache_record_ids WHERE resource = ?1
      """, .text(tables.resource.name), .text(tables.resource.table), .integer(.max / 2))
  }
}
