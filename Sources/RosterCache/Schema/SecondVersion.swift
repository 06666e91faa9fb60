/// Migrates caches of rosterd 0.2 (`user_version` 2). All their tables are kept, with all rows and pages.
enum SecondVersion {
  /// Call it within a transaction. Version 3 is not released yet: later changes of 0.3 extend this step.
  static func migrate(_ database: Database) throws {
    for column in FixedTables.resourceColumns {
      try database.execute("ALTER TABLE main.resources ADD COLUMN \(column)")
    }
    for column in FixedTables.syncResourceColumns {
      try database.execute("ALTER TABLE main.sync_resources ADD COLUMN \(column)")
    }
    for column in FixedTables.syncColumns { try database.execute("ALTER TABLE main.syncs ADD COLUMN \(column)") }
    for statement in rejects + lists + changes { try database.execute(statement) }
    try defineInfo(database)
    try Schema(of: database).defineRemoved(database)
  }

  /// Completes a cache of an early build of 0.3, in which `changes` was still a table, `syncs` had no `verified_at`, or
  /// `cache_lists` had no `not_found_at`.
  static func complete(_ database: Database) throws {
    let isTable = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'changes' AND type = 'table')"
    let isVerified = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('syncs', 'main') WHERE name = 'verified_at')"
    let isNoted = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('cache_lists', 'main') WHERE name = 'not_found_at')"
    let (hasOldChanges, lacksTime) = (try database.count(isTable) == 1, try database.count(isVerified) == 0)
    let lacksNote = try database.count(isNoted) == 0
    guard hasOldChanges || lacksTime || lacksNote else { return }
    try database.transaction {
      if hasOldChanges {
        for statement in changes { try database.execute(statement) }
        try Schema(of: database).defineRemoved(database)
      }
      if lacksTime {
        try database.execute("ALTER TABLE main.syncs ADD COLUMN \(FixedTables.verifiedColumn)")
        try defineInfo(database)
      }
      if lacksNote { try database.execute("ALTER TABLE main.cache_lists ADD COLUMN \(FixedTables.notFoundColumn)") }
    }
  }

  private static func defineInfo(_ database: Database) throws {
    try database.execute("DROP VIEW main.cache_info")
    try database.execute(FixedTables.info)
  }

  /// The primary key has one more column.
  private static let rejects = [
    "ALTER TABLE main.rejects RENAME TO rejects_2", FixedTables.rejects,
    "INSERT INTO main.rejects SELECT sync_id, resource, 0, page, position, reason, document FROM main.rejects_2",
    "DROP TABLE main.rejects_2", FixedTables.rejectsByDocument,
  ]

  /// The rows of earlier changes keep both documents.
  private static let changes =
    ["ALTER TABLE main.changes RENAME TO cache_changes"]
    + FixedTables.changeColumns.map { "ALTER TABLE main.cache_changes ADD COLUMN \($0)" } + FixedTables.changes

  /// Each resource becomes a list with the resource's id, so that the pages keep their rows.
  private static let lists =
    [
      "ALTER TABLE main.cache_resources RENAME TO cache_resources_2", FixedTables.ownResources, FixedTables.lists,
      "INSERT INTO main.cache_resources SELECT id, name, snapshot, list FROM main.cache_resources_2",
      """
      INSERT INTO main.cache_lists(id, resource_id, parent_id, pages, storable, rejects, unknown, skipped, repeats)
      SELECT id, id, 0, pages, storable, rejects, unknown, skipped, repeats FROM main.cache_resources_2
      """, "DROP TABLE main.cache_resources_2", "ALTER TABLE main.cache_pages RENAME COLUMN resource_id TO list_id",
      "ALTER TABLE main.cache_unlisted RENAME COLUMN resource_id TO list_id",
    ] + FixedTables.pageColumns.map { "ALTER TABLE main.cache_pages ADD COLUMN \($0)" }
    + [FixedTables.overlaid, FixedTables.resourceLists] + FixedTables.listIndexes
}
