internal import RosterModel

/// Migrates caches of rosterd 0.1 (`user_version` 1), which knew characters only. The built-in definition makes the
/// same tables of characters, so they are kept.
enum FirstVersion {
  private static let resource = "character"

  /// Call it within a transaction. Other resources than the built-in one are added by the next sync that publishes.
  static func migrate(_ database: Database) throws {
    for statement in setAside { try database.execute(statement) }
    for statement in FixedTables.create { try database.execute(statement) }
    for statement in takeOver { try database.execute(statement) }
    let schema = try Schema([.character])
    try schema.introduce(schema.tables[0], in: database)
    try takeOverRecords(database)
    try schema.defineRemoved(database)
    for table in old { try database.execute("DROP TABLE main.\(table)_1") }
  }

  private static let old = ["syncs", "changes", "rejects", "cache_identity"]

  private static let setAside =
    ["DROP VIEW main.cache_info", "DROP INDEX main.syncs_by_outcome", "DROP INDEX main.changes_by_character"]
    + old.map { "ALTER TABLE main.\($0) RENAME TO \($0)_1" }

  private static let takeOver = [
    """
    INSERT INTO main.syncs SELECT id, started_at, finished_at, outcome, pages, characters, added, changed, removed,
      rejected, 0, requests, not_modified, resumed, retries, refreshes, bytes, exit, error, 0, 0, NULL FROM main.syncs_1
    """,
    """
    INSERT INTO main.sync_resources
    SELECT id, '\(resource)', pages, records, added, changed, removed, rejected, 0, NULL, NULL, NULL, NULL, NULL
    FROM main.syncs WHERE outcome IN ('published', 'unchanged')
    """,
    """
    INSERT INTO main.cache_changes
    SELECT id, sync_id, '\(resource)', character_id, kind, at, before, after, NULL, NULL FROM main.changes_1 ORDER BY id
    """,
    // Ids of deleted changes are not reused (sqlite.org/autoinc.html).
    "DELETE FROM main.sqlite_sequence WHERE name = 'cache_changes'",
    "INSERT INTO main.sqlite_sequence SELECT 'cache_changes', seq FROM main.sqlite_sequence WHERE name = 'changes_1'",
    "INSERT INTO main.rejects SELECT sync_id, '\(resource)', 0, page, position, reason, document FROM main.rejects_1",
    """
    UPDATE main.cache_identity SET (feed, upstream) = (SELECT feed, upstream FROM main.cache_identity_1)
    """,
  ]

  /// Version 1 did not store which page lists a record. Each record counts as listed by no page until the next sync,
  /// which transfers all pages.
  private static func takeOverRecords(_ database: Database) throws {
    try database.run(
      """
      UPDATE main.resources SET records = (SELECT count(*) FROM main.characters), pages =
        coalesce((SELECT pages FROM main.syncs WHERE id = \(FixedTables.verified)), 0),
        proof = CASE WHEN (SELECT snapshot FROM main.cache_info) IS NOT NULL THEN 'count' END WHERE name = '\(resource)'
      """)
    try database.run(
      "UPDATE main.cache_resources SET snapshot = (SELECT snapshot FROM main.cache_info), list = ?1 WHERE name = '\(resource)'",
      .text(Resource.character.listed))
    try database.run(
      """
      INSERT INTO main.cache_unlisted SELECT l.id, c.id, 0 FROM main.cache_resources r
      JOIN main.cache_lists l ON l.resource_id = r.id AND l.parent_id = 0, main.characters c WHERE r.name = '\(resource)'
      """)
  }
}
