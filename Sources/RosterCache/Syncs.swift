package import FoundationEssentials
internal import Logging
package import RosterCore

extension Cache {
  /// Writes the row of a sync that starts now, after replaced or damaged files were reopened. Throws `SyncStartError`:
  /// the sync has an id even then, and `noteFailedStart` ensures that its row is written later.
  /// - Parameter prepare: A step that must succeed before the sync begins, such as taking the lock.
  package func begin(at date: Date, prepare: @Sendable () throws -> Void = {}) throws(SyncStartError) -> SyncRecord {
    do {
      try prepare()
      do { try reopenIfReplaced(at: date) } catch let error as SQLiteError {
        throw error.failure("open the cache", path)
      }
      if isDamageSuspected { _ = try recover(at: date) }
      do { return try beginRow(at: date) } catch let failure as Failure
        where isDamageSuspected
      {
        logger.error("\(failure)")
        _ = try recover(at: date)
        return try beginRow(at: date)
      }
    } catch {
      latestID += 1
      throw SyncStartError(id: latestID, cause: error)
    }
  }

  private func beginRow(at date: Date) throws -> SyncRecord {
    let report = try perform("begin a sync") { database in
      try beginPull(database)
      return try database.transaction {
        try writeEnds(database)
        try noteLatest(database)
        let report = SyncRecord(id: latestID + 1, startedAt: date.rfc3339)
        try SyncRow.write(report, to: database)
        return report
      }
    }
    unwritten = []
    latestID = report.id
    begun = report.id
    return report
  }

  /// Ids continue even in a cache that was replaced or restored, because callers wait for a sync of this process by its
  /// id.
  func noteLatest(_ database: Database) throws {
    let last = try database.first("SELECT coalesce(max(id), 0) FROM main.syncs") { $0.integer(0) }
    latestID = max(latestID, last ?? 0)
  }

  /// Keeps the row of a sync that could not begin. It is written with the next sync's row, or on closing, because its
  /// obstacle was waited for already.
  package func noteFailedStart(_ report: SyncRecord) {
    unwritten = unwritten.suffix(Self.maxUnwritten) + [report]
  }

  /// Writes the row of a sync that failed or was cancelled, and deletes expired history. Reopens replaced or damaged
  /// files first. A row that cannot be written is written with the next sync's row, or on closing.
  package func end(_ report: SyncRecord, at date: Date, history: Duration) throws {
    noteFailedStart(report)
    freeRoom(after: report)
    do { try reopenIfReplaced(at: date) } catch let error as SQLiteError { throw error.failure("open the cache", path) }
    _ = try recover(at: date)
    try perform("end a sync") { database in
      try database.transaction {
        try writeEnds(database)
        try SyncRow.prune(database, history: history, at: date)
      }
    }
    unwritten = []
    shortenLog()
  }

  /// Frees the room that temporary tables take on a full disk, so that later syncs can succeed.
  private func freeRoom(after report: SyncRecord) {
    guard report.exit == Failure.Kind.cannotWrite.exitCode else { return }
    do { try freeTemporaryRoom() } catch {
      logger.warning("the room of temporary tables could not be freed: \(error)")
    }
  }

  func writeEnds(_ database: Database) throws {
    for end in unwritten { try SyncRow.write(end, to: database) }
  }

  /// Limits the memory that a permanently locked cache costs, to some hundred KiB.
  private static let maxUnwritten = 999

  /// Writes the log back into the file if it is long enough. A reader that prevents it costs only space.
  package func shortenLog(above limit: Int64 = longLog) {
    let wal = sizes().wal
    guard wal > 0 else {
      isWALPinned = false
      return
    }
    guard wal > limit || isWALPinned, let database else { return }
    database.arm(interruption)
    defer { try? interruption.disarm() }
    do {
      isWALPinned = try !database.checkpoint(.passive)
      if isWALPinned { return }
      // TRUNCATE waits for readers until the busy timeout, which is 0 here.
      database.wait(milliseconds: 0)
      defer { database.wait(milliseconds: Self.lockTimeout, unless: interruption) }
      _ = try database.checkpoint(.truncate)
    } catch {
      logger.warning("the cache's log could not be written back yet: \(error)")
    }
  }

  /// 1 MiB: the log of a thousand syncs that found nothing.
  package static let longLog: Int64 = 1 << 20
}

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
