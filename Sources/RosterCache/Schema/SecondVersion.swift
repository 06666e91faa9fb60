/// Caches of rosterd 0.2 (`user_version` 2). All their tables stay, with all rows and pages.
enum SecondVersion {
  /// Call it within a transaction. Version 3 is not released yet: later changes of 0.3 extend this step.
  static func migrate(_ database: Database) throws {
    for column in FixedTables.trust { try database.execute("ALTER TABLE main.resources ADD COLUMN \(column)") }
    try database.execute("DROP VIEW main.cache_info")
    try database.execute(FixedTables.info)
    try Schema(of: database).defineRemoved(database)
  }
}
