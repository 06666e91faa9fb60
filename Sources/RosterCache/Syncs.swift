package import FoundationEssentials
internal import Logging
package import RosterModel

extension Cache {
  /// Writes the row of a sync that starts now, after replaced or damaged files were reopened. Throws `SyncStartError`:
  /// the sync has an id even then, and `noteFailedStart` ensures that its row is written later.
  /// - Parameter prepare: A step that must succeed before the sync begins, such as taking the lock.
  package func begin(at date: Date, prepare: @Sendable () throws -> Void = {}) throws(SyncStartError) -> PullSession {
    do {
      try prepare()
      do { try reopenIfReplaced(at: date) } catch let error as SQLiteError {
        throw error.failure("open the cache", path)
      }
      if isDamageSuspected { _ = try recover(at: date) }
      do { return PullSession(cache: self, record: try beginRow(at: date)) } catch let failure as Failure
        where isDamageSuspected
      {
        logger.error("\(failure)")
        _ = try recover(at: date)
        return PullSession(cache: self, record: try beginRow(at: date))
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

  func end(_ report: SyncRecord, at date: Date, history: Duration) throws {
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
