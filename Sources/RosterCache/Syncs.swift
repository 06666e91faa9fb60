package import FoundationEssentials
internal import Logging
package import RosterModel

/// A row of `syncs` as a value, and back.
enum SyncRow {
  static let columns = [
    "id", "started_at", "finished_at", "outcome", "pages", "records", "added", "changed", "removed", "rejected",
    "skipped", "requests", "not_modified", "resumed", "retries", "refreshes", "bytes", "exit", "error",
  ]
  static let select = "SELECT \(columns.joined(separator: ", ")) FROM syncs"

  static func read(_ row: Row) -> SyncRecord {
    var report = SyncRecord(
      id: row.integer(0), startedAt: row.text(1),
      outcome: SyncRecord.Outcome(rawValue: row.text(3)) ?? .failed)
    report.finishedAt = row.optionalText(2)
    report.pages = row.int(4)
    report.records = row.int(5)
    report.added = row.int(6)
    report.changed = row.int(7)
    report.removed = row.int(8)
    report.rejected = row.int(9)
    report.skipped = row.int(10)
    report.requests = row.int(11)
    report.notModified = row.int(12)
    report.resumed = row.int(13)
    report.retries = row.int(14)
    report.refreshes = row.int(15)
    report.bytes = row.int(16)
    report.exit = row.optionalInteger(17).map(Int32.init)
    report.error = row.optionalText(18)
    return report
  }

  /// The row may be gone: a cache that was damaged is made anew under a running sync. A row of that id may also be
  /// another sync's, in a file that was put in the cache's place: that one stays as it is.
  static func write(_ report: SyncRecord, _ database: Database) throws {
    let marks = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    let updates = columns.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    try database.statement(
      """
      INSERT INTO syncs(\(columns.joined(separator: ", "))) VALUES (\(marks)) ON CONFLICT (id) DO UPDATE SET \(updates)
      WHERE started_at = excluded.started_at
      """
    ).run([
      Value(report.id), Value(report.startedAt), Value(report.finishedAt), Value(report.outcome.rawValue),
      Value(report.pages), Value(report.records), Value(report.added), Value(report.changed), Value(report.removed),
      Value(report.rejected), Value(report.skipped), Value(report.requests), Value(report.notModified),
      Value(report.resumed), Value(report.retries), Value(report.refreshes), Value(report.bytes),
      Value(report.exit.map(Int64.init)), Value(report.error),
    ])
  }

  /// Deletes what `history` has ended. The snapshot's sync and the last that verified it stay, and so does the newest
  /// change: readers of the feed tell by it that they have seen all.
  static func prune(_ database: Database, history: Duration, at now: Date) throws {
    let (limit, now) = (Value(now.addingTimeInterval(-history.seconds).rfc3339), Value(now.rfc3339))
    try database.run(
      """
      DELETE FROM syncs WHERE id <= \(lastEnded("syncs", "started_at"))
        AND id <> coalesce((SELECT max(id) FROM syncs WHERE outcome = 'published'), 0)
        AND id <> coalesce((SELECT max(id) FROM syncs WHERE outcome = 'unchanged'), 0)
      """, limit, now)
    try database.run(
      """
      DELETE FROM changes WHERE id <= \(lastEnded("changes", "at")) AND id < (SELECT max(id) FROM changes)
      """, limit, now)
    try database.run("DELETE FROM sync_resources WHERE sync_id NOT IN (SELECT id FROM syncs)")
  }

  /// The id of the last row that is older than ?1 and before all rows since then. Ids are in the order of time, so that
  /// a look at the oldest is enough. A row from after ?2, when a clock was wrong, does not count: neither does it keep
  /// what is older, nor does it go before that. No row does, where the clock is wrong now.
  private static func lastEnded(_ table: String, _ time: String) -> String {
    let first = "(SELECT id FROM \(table) WHERE \(time) BETWEEN ?1 AND ?2 ORDER BY id LIMIT 1)"
    return """
      (SELECT id FROM \(table) WHERE id < coalesce(\(first), \(Int64.max)) AND \(time) < ?1 ORDER BY id DESC LIMIT 1)
      """
  }
}

extension Cache {
  /// Writes the row of a sync that starts now, having put right what befell the files since the last one. Throws
  /// `NotBegun`: the sync has its number all the same, and `end` sees to it that its row is written later.
  /// - Parameter prepare: What must go well before, such as the lock.
  package func begin(at date: Date, prepare: @Sendable () throws -> Void = {}) throws(NotBegun) -> SyncRecord {
    do {
      try prepare()
      do { try putRight(at: date) } catch let error as SQLiteError { throw error.failure("open the cache", path) }
      if metDamage { _ = try recover(at: date) }
      do { return try beginRow(at: date) } catch let failure as Failure where metDamage {
        logger.error("\(failure)")
        _ = try recover(at: date)
        return try beginRow(at: date)
      }
    } catch {
      latestID += 1
      throw NotBegun(id: latestID, cause: error)
    }
  }

  private func beginRow(at date: Date) throws -> SyncRecord {
    let report = try perform("begin a sync") { database in
      try beginPull(database)
      return try database.transaction {
        try writeEnds(database)
        try noteLatest(database)
        let report = SyncRecord(id: latestID + 1, startedAt: date.rfc3339)
        try SyncRow.write(report, database)
        return report
      }
    }
    unwritten = []
    latestID = report.id
    begun = report.id
    return report
  }

  /// Also in a cache that was made anew or restored, ids go on: whoever waits for a sync of this process knows it by
  /// its id.
  func noteLatest(_ database: Database) throws {
    let last = try database.first("SELECT coalesce(max(id), 0) FROM syncs") { $0.integer(0) }
    latestID = max(latestID, last ?? 0)
  }

  /// Writes the row of a sync that failed or was cancelled, as it is told, and deletes what `history` has ended. Puts
  /// right first what befell the files. A row that cannot be written is written with the next sync's, or on closing;
  /// that of a sync that could not begin is left to them at once, for what was in the way a moment ago is waited for no
  /// longer.
  package func end(_ report: SyncRecord, at date: Date, history: Duration) throws {
    unwritten = unwritten.suffix(Self.mostUnwritten) + [report]
    guard report.id == begun else { return }
    do { try putRight(at: date) } catch let error as SQLiteError { throw error.failure("open the cache", path) }
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

  func writeEnds(_ database: Database) throws {
    for end in unwritten { try SyncRow.write(end, database) }
  }

  /// What a cache that stays locked may cost in memory, beside its rows: some hundred KiB.
  private static let mostUnwritten = 999

  /// Writes the log back into the file once it is long enough; a reader in the way costs space only.
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
      // TRUNCATE waits for readers as long as the busy timeout: not at all.
      database.wait(milliseconds: 0)
      defer { database.wait(milliseconds: Self.lockTimeout, unless: interruption) }
      _ = try database.checkpoint(.truncate)
    } catch {
      logger.warning("the cache's log could not be written back yet: \(error)")
    }
  }

  /// 1 MiB: a thousand syncs that found nothing.
  package static let longLog: Int64 = 1 << 20
}
