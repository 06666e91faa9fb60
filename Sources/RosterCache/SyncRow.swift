internal import FoundationEssentials
internal import RosterModel

/// Converts between a row of `syncs` and a value.
enum SyncRow {
  private static let columns =
    ["id", "started_at", "finished_at", "outcome", "exit", "error", "verified_at"] + SyncRecord.counts.map(\.column)
  static let select = "SELECT \(columns.joined(separator: ", ")) FROM main.syncs"

  static func read(_ row: Row) -> SyncRecord {
    var report = SyncRecord(
      id: row.integer(0), startedAt: row.text(1),
      outcome: SyncRecord.Outcome(rawValue: row.text(3)) ?? .failed)
    report.finishedAt = row.optionalText(2)
    report.exit = row.optionalInteger(4).map(Int32.init)
    report.error = row.optionalText(5)
    report.verifiedAt = row.optionalText(6)
    for (column, entry) in SyncRecord.counts.enumerated() { report[keyPath: entry.count] = row.int(Int32(column + 7)) }
    return report
  }

  /// Inserts the row if it is missing, because a damaged cache is replaced during a sync. A row of that id may also
  /// belong to another sync, in a file that replaced the cache. That row is unchanged.
  static func write(_ report: SyncRecord, to database: Database) throws {
    let marks = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    let updates = columns.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    try database.statement(
      """
      INSERT INTO main.syncs(\(columns.joined(separator: ", "))) VALUES (\(marks)) ON CONFLICT (id) DO UPDATE SET \(updates)
      WHERE started_at = excluded.started_at
      """
    ).run(
      [
        Value(report.id), Value(report.startedAt), Value(report.finishedAt), Value(report.outcome.rawValue),
        Value(report.exit.map(Int64.init)), Value(report.error), Value(report.verifiedAt),
      ] + SyncRecord.counts.map { Value(report[keyPath: $0.count]) })
  }

  /// Deletes expired history. The snapshot's sync and the last sync that verified it are kept. The newest change is
  /// kept too: it shows readers of the feed that they have seen all changes.
  static func prune(_ database: Database, history: Duration, at now: Date) throws {
    func lastEnded(_ table: String, time: String) throws -> Value? {
      let limit = now.addingTimeInterval(-history.seconds)
      return try database.first(Self.lastEnded(table, time: time), .text(limit.rfc3339), .text(now.rfc3339)) {
        .integer($0.integer(0))
      }
    }
    if let last = try lastEnded("cache_changes", time: "at") {
      try database.run(
        "DELETE FROM main.cache_changes WHERE id <= ?1 AND id < (SELECT max(id) FROM main.cache_changes)", last)
    }
    guard let last = try lastEnded("syncs", time: "started_at") else { return }
    try database.run("DELETE FROM main.syncs WHERE id <= ?1 AND \(FixedTables.isNotKept)", last)
    try database.run(
      """
      DELETE FROM main.sync_resources AS r WHERE sync_id <= ?1 AND NOT EXISTS (SELECT 1 FROM main.syncs s WHERE s.id = r.sync_id)
      """, last)
  }

  /// The id of the last row that is older than ?1 and precedes all rows since then. Ids ascend with time, so that only
  /// the oldest rows are read. A row from after ?2 was written by a wrong clock: it neither keeps older rows nor is
  /// deleted before them. If the clock is wrong now, no row is deleted.
  private static func lastEnded(_ table: String, time: String) -> String {
    let first = "(SELECT id FROM main.\(table) WHERE \(time) BETWEEN ?1 AND ?2 ORDER BY id LIMIT 1)"
    return """
      SELECT id FROM main.\(table) WHERE id < coalesce(\(first), \(Int64.max)) AND \(time) < ?1 ORDER BY id DESC LIMIT 1
      """
  }
}
