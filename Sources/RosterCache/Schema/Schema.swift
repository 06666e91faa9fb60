internal import RosterModel

/// Version 3 of the schema: the fixed tables, and the tables of the definitions.
struct Schema {
  /// "ROST", at byte 68 of the file (sqlite.org/fileformat2.html#application_id).
  static let applicationID: UInt32 = 0x524F_5354
  /// `user_version`. Rosterd 0.1 wrote version 1, and rosterd 0.2 wrote version 2. No rows are converted: a cache of an
  /// older version is replaced (`OlderCache`).
  static let version = 3
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
