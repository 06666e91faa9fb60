internal import RosterModel

/// The statements that turn one snapshot into the next; within one transaction. A row that stays the same is not written.
struct Publication {
  let database: Database
  let sync: Int64
  let at: String
  let upstream: String
  let pages: Int

  /// Writes all but the sync's row and fills in its columns.
  func write(into report: SyncReport, removing: Removal) throws -> SyncReport {
    var report = report
    let before = try database.first("SELECT snapshot, characters, upstream FROM main.cache_info") {
      (snapshot: $0.optionalInteger(0), characters: $0.int(1), upstream: $0.optionalText(2))
    }
    report.pages = pages
    report.added = 0
    report.changed = 0
    report.removed = 0
    if before?.snapshot == nil {
      report.added = try writeFirst()
    } else {
      try writeNext(removing, &report)
    }
    report.characters = (before?.characters ?? 0) + report.added - report.removed
    report.rejected =
      try database.first("SELECT count(*) FROM staging.rejected WHERE page <= ?", Value(pages)) {
        $0.int(0)
      } ?? 0
    let areRejectsNew = try writeRejects()
    let isNew =
      before?.snapshot == nil || report.added + report.changed + report.removed > 0
      || areRejectsNew || before?.upstream != upstream
    if before?.upstream != upstream {
      try database.run("UPDATE main.cache_identity SET upstream = ?", .text(upstream))
    }
    report.outcome = isNew ? .published : .unchanged
    return report
  }

  /// The first snapshot of a feed: nothing to compare with, and no changes to tell.
  private func writeFirst() throws -> Int {
    let columns = Columns.list(Columns.all, of: "r")
    // OR FAIL: SQLite need not be able to take back half a statement, since all is taken back.
    let added = try database.run(
      "INSERT OR FAIL INTO main.characters SELECT r.id, \(columns), ?1, ?1 FROM staging.records r", .integer(sync))
    try database.run(
      """
      INSERT OR FAIL INTO main.character_episodes
      SELECT r.id, j.key, j.value FROM staging.records r, json_each(r.episodes) j
      """)
    try database.run(
      """
      INSERT INTO main.characters_fts(rowid, \(Self.indexed))
      SELECT r.id, \(Columns.list(Columns.indexed, of: "r")) FROM staging.records r
      """)
    return added
  }

  private func writeNext(_ removing: Removal, _ report: inout SyncReport) throws {
    try findDelta(removing)
    for (kind, count) in try database.rows(
      "SELECT kind, count(*) FROM temp.delta GROUP BY kind", read: { ($0.text(0), $0.int(1)) })
    {
      switch kind {
      case "added": report.added = count
      case "changed": report.changed = count
      default: report.removed = count
      }
    }
    guard report.added + report.changed + report.removed > 0 else { return }
    try writeChanges()
    try unindex()
    try writeCharacters()
    try writeEpisodes()
    try index()
    try database.run("DELETE FROM temp.delta")
  }

  private func findDelta(_ removing: Removal) throws {
    let published = Columns.episodes(of: "r.id")
    // Equal texts are equal lists; of different texts a look at the rows decides.
    let episodes = """
      (r.episodes <> \(published) AND (
        json_array_length(r.episodes) <> (SELECT count(*) FROM main.character_episodes WHERE character_id = r.id)
        OR EXISTS (SELECT 1 FROM json_each(r.episodes) j LEFT JOIN main.character_episodes e
          ON e.character_id = r.id AND e.position = j.key WHERE e.url IS NOT j.value)))
      """
    try database.run("DELETE FROM temp.delta")
    try database.run(
      """
      INSERT INTO temp.delta
      SELECT id, CASE WHEN new THEN 'added' ELSE 'changed' END, new OR indexed, episodes
      FROM (
        SELECT r.id AS id, c.id IS NULL AS new, \(Columns.differ(Columns.all, "c", "r")) AS differs,
          \(Columns.differ(Columns.indexed, "c", "r")) AS indexed, \(episodes) AS episodes
        FROM staging.records r LEFT JOIN main.characters c ON c.id = r.id
      ) WHERE new OR differs OR episodes
      """)
    if removing == .missing {
      try database.run("INSERT INTO temp.delta SELECT id, 'removed', 1, 1 FROM temp.missing")
    }
  }

  private func writeChanges() throws {
    let before = Columns.json("c", episodes: Columns.episodes(of: "c.id"))
    let after = Columns.json("r", episodes: "r.episodes")
    try database.run(
      """
      INSERT INTO main.changes(sync_id, character_id, kind, at, before, after)
      SELECT ?1, d.id, d.kind, ?2, CASE WHEN d.kind <> 'added' THEN \(before) END, CASE WHEN d.kind <> 'removed' THEN \(after) END
      FROM temp.delta d LEFT JOIN main.characters c ON c.id = d.id LEFT JOIN staging.records r ON r.id = d.id
      ORDER BY d.id
      """, .integer(sync), .text(at))
  }

  /// An external-content index must be told the old values before they go (sqlite.org/fts5.html#the_delete_command).
  private func unindex() throws {
    try database.run(
      """
      INSERT INTO main.characters_fts(characters_fts, rowid, \(Self.indexed))
      SELECT 'delete', c.id, \(Columns.list(Columns.indexed, of: "c"))
      FROM temp.delta d JOIN main.characters c ON c.id = d.id WHERE d.indexed
      """)
  }

  private func index() throws {
    try database.run(
      """
      INSERT INTO main.characters_fts(rowid, \(Self.indexed))
      SELECT c.id, \(Columns.list(Columns.indexed, of: "c"))
      FROM temp.delta d JOIN main.characters c ON c.id = d.id WHERE d.indexed
      """)
  }

  private func writeCharacters() throws {
    try database.run(
      "DELETE FROM main.characters WHERE id IN (SELECT id FROM temp.delta WHERE kind = 'removed')")
    let updates = Columns.all.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    try database.run(
      """
      INSERT OR FAIL INTO main.characters SELECT r.id, \(Columns.list(Columns.all, of: "r")), ?1, ?1
      FROM temp.delta d JOIN staging.records r ON r.id = d.id WHERE d.kind <> 'removed'
      ON CONFLICT (id) DO UPDATE SET \(updates), changed_sync = excluded.changed_sync
      """, .integer(sync))
  }

  private func writeEpisodes() throws {
    try database.run(
      """
      DELETE FROM main.character_episodes WHERE (character_id, position) IN (
        SELECT e.character_id, e.position FROM temp.delta d
        JOIN main.character_episodes e ON e.character_id = d.id
        LEFT JOIN staging.records r ON r.id = d.id
        WHERE d.episodes AND (d.kind = 'removed' OR e.position >= json_array_length(r.episodes)))
      """)
    try database.run(
      """
      INSERT OR FAIL INTO main.character_episodes
      SELECT d.id, j.key, j.value FROM temp.delta d JOIN staging.records r ON r.id = d.id, json_each(r.episodes) j
      WHERE d.kind <> 'removed' AND (d.episodes OR d.kind = 'added')
      ON CONFLICT (character_id, position) DO UPDATE SET url = excluded.url WHERE url IS NOT excluded.url
      """)
  }

  /// The staging holds the rejects of kept pages too, so that both sides are whole. True: something was written.
  private func writeRejects() throws -> Bool {
    let same = "s.page = m.page AND s.position = m.position AND s.reason = m.reason AND s.document = m.document"
    let gone = try database.run(
      """
      DELETE FROM main.rejects AS m WHERE page > ?1 OR NOT EXISTS (SELECT 1 FROM staging.rejected s WHERE \(same))
      """, Value(pages))
    let new = try database.run(
      """
      INSERT INTO main.rejects SELECT ?1, s.page, s.position, s.reason, s.document FROM staging.rejected s
      WHERE s.page <= ?2 AND NOT EXISTS (SELECT 1 FROM main.rejects m WHERE \(same))
      """, .integer(sync), Value(pages))
    return gone + new > 0
  }

  private static let indexed = Columns.indexed.joined(separator: ", ")
}
