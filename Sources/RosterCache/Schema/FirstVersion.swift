internal import RosterModel

/// Caches of rosterd 0.1 (`user_version` 1), which knew characters only. Their tables of characters are as the built-in
/// definition makes them, and stay.
enum FirstVersion {
  private static let resource = "character"

  /// Within a transaction. Other resources than the built-in one come with the next sync that publishes.
  static func migrate(_ database: Database) throws {
    for statement in setAside { try database.execute(statement) }
    for statement in FixedTables.create { try database.execute(statement) }
    for statement in takeOver { try database.execute(statement) }
    let schema = try Schema([.character])
    try schema.introduce(schema.tables[0], database)
    try takeOverRecords(database)
    try schema.defineRemoved(database)
    for table in old { try database.execute("DROP TABLE \(table)_1") }
  }

  private static let old = ["syncs", "changes", "rejects", "cache_identity"]

  private static let setAside =
    ["DROP VIEW cache_info", "DROP INDEX syncs_by_outcome", "DROP INDEX changes_by_character"]
    + old.map { "ALTER TABLE \($0) RENAME TO \($0)_1" }

  private static let takeOver = [
    """
    INSERT INTO syncs SELECT id, started_at, finished_at, outcome, pages, characters, added, changed, removed,
      rejected, 0, requests, not_modified, resumed, retries, refreshes, bytes, exit, error FROM syncs_1
    """,
    """
    INSERT INTO sync_resources SELECT id, '\(resource)', pages, records, added, changed, removed, rejected, 0
    FROM syncs WHERE outcome IN ('published', 'unchanged')
    """,
    """
    INSERT INTO changes SELECT id, sync_id, '\(resource)', character_id, kind, at, before, after FROM changes_1
    ORDER BY id
    """,
    // Ids of changes that were deleted are not given out again (sqlite.org/autoinc.html).
    "DELETE FROM sqlite_sequence WHERE name = 'changes'",
    "INSERT INTO sqlite_sequence SELECT 'changes', seq FROM sqlite_sequence WHERE name = 'changes_1'",
    "INSERT INTO rejects SELECT sync_id, '\(resource)', page, position, reason, document FROM rejects_1",
    """
    UPDATE cache_identity SET (feed, upstream) = (SELECT feed, upstream FROM cache_identity_1)
    """,
  ]

  /// Which page lists a record is not known: each counts as listed by none until the next sync, which transfers all of
  /// them.
  private static func takeOverRecords(_ database: Database) throws {
    try database.run(
      """
      UPDATE resources SET records = (SELECT count(*) FROM characters), pages = (SELECT pages FROM cache_info),
        proof = CASE WHEN (SELECT snapshot FROM cache_info) IS NOT NULL THEN 'count' END WHERE name = '\(resource)'
      """)
    try database.run(
      "UPDATE cache_resources SET snapshot = (SELECT snapshot FROM cache_info), list = ?1 WHERE name = '\(resource)'",
      .text(Resource.character.listed))
    try database.run(
      """
      INSERT INTO cache_unlisted SELECT r.id, c.id, 0 FROM cache_resources r, characters c WHERE r.name = '\(resource)'
      """)
  }

  // MARK: The staging file

  /// `roster.db` → `roster.staging.db`
  private static func stagingPath(_ path: String) -> String {
    (path.hasSuffix(".db") ? String(path.dropLast(3)) : path) + ".staging.db"
  }

  /// What 0.1 kept beside the cache: whether it knows this file as the one that was written last, and until when
  /// upstream wants no request.
  struct Staging {
    var isCacheKnown = false
    var heldUntil: Double?
  }

  /// Reads it before the cache is migrated. Of another program's file of that name: nothing.
  static func staging(_ path: String, upstream: String, _ database: Database) throws -> Staging {
    guard isOurs(stagingPath(path)), let file = try? Database(path: stagingPath(path), access: .writer) else {
      return Staging()
    }
    defer { file.close() }
    let own = try database.first("SELECT i.feed, c.snapshot, c.published_at FROM cache_identity i, cache_info c") {
      (feed: $0.text(0), snapshot: $0.optionalInteger(1), at: $0.optionalText(2))
    }
    let found = try? file.first(
      """
      SELECT feed = ?1 AND file = ?2 AND (snapshot IS NULL OR snapshot < ?3 OR (snapshot = ?3 AND published_at IS ?4)),
        CASE WHEN upstream = ?5 THEN held_until END FROM info
      """, Value(own?.feed), Value(FileIdentity(path)?.text), Value(own?.snapshot ?? nil), Value(own?.at ?? nil),
      .text(upstream)
    ) { Staging(isCacheKnown: $0.int(0) != 0, heldUntil: $0.isNull(1) ? nil : $0.real(1)) }
    return found ?? Staging()
  }

  /// What was pulled and not published is pulled again.
  static func dropStaging(_ path: String) {
    if isOurs(stagingPath(path)) { try? CacheFile.remove(stagingPath(path)) }
  }

  /// A staging file's own table: another rosterd's cache of that name has it not.
  private static func isOurs(_ path: String) -> Bool {
    guard CacheFile.status(path) != nil, let file = try? Database(path: path, access: .readOnly) else { return false }
    defer { file.close() }
    let known = try? file.rows("SELECT name FROM sqlite_schema WHERE name IN ('info', 'pages', 'records', 'rejected')")
    {
      $0.text(0)
    }
    return known?.count == 4
  }
}
