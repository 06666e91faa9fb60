package import FoundationEssentials
internal import Logging
package import RosterModel

extension Cache {
  /// Makes pages 1…`pages` the snapshot, in one transaction with the sync's own row, and deletes what `history` has ended.
  /// Writes that row alone where nothing is new (P5). `report`: its exit and error are written as given. Returns it as written:
  /// published or unchanged. Throws CancellationError where `interruptPublish` broke it off: then nothing has changed.
  /// - Parameter now: Read when it begins, for `changes`, and when it ends, for the row.
  package func publish(
    _ report: SyncReport, pages: Int, removing: Removal, at now: @autoclosure @escaping @Sendable () -> Date,
    history: Duration
  ) throws -> SyncReport {
    try Task.checkCancellation()
    try expectInPlace(withLog: true)
    if compared != pages { _ = try compare(pages: pages) }
    database?.arm(interruption)
    defer { try? interruption.disarm() }
    let written = try commit(report, pages, removing, now, history)
    compared = nil
    try expectInPlace(withLog: false)
    settleOrRenew(pages)
    shortenLog(above: written.outcome == .published ? 0 : Self.longLog)
    database?.releaseMemory()
    return written
  }

  /// All that readers see of a publish; the staging still holds it as unpublished.
  func commit(
    _ report: SyncReport, _ pages: Int, _ removing: Removal, _ now: () -> Date, _ history: Duration
  ) throws -> SyncReport {
    try perform("publish the snapshot") { database in
      // Its own commit before the other: a crash after that one is told from a crash before it by the pending sync's row.
      try database.run(
        """
        UPDATE staging.info SET pending = ?1, pending_pages = ?2
        WHERE EXISTS (SELECT 1 FROM staging.pages WHERE NOT published OR page > ?2) OR (?3 AND EXISTS (SELECT 1 FROM temp.missing))
        """, .integer(report.id), Value(pages), removing == .missing ? 1 : 0)
      return try database.transaction(commits: interruption.disarm) {
        let publication = Publication(
          database: database, sync: report.id, at: now().rfc3339, upstream: upstream, pages: pages)
        var written = try publication.write(into: report, removing: removing)
        let end = now()
        written.finishedAt = end.rfc3339
        try SyncRow.write(written, database)
        try SyncRow.prune(database, history: history, at: end)
        return written
      }
    }
  }

  /// The snapshot is out: whatever happens to the staging now costs no more than a full pull.
  private func settleOrRenew(_ pages: Int) {
    guard let database else { return }
    do {
      let isDue = try database.first(
        """
        SELECT 1 FROM staging.info s, main.cache_info c WHERE s.pending IS NOT NULL OR s.snapshot IS NOT c.snapshot
          OR EXISTS (SELECT 1 FROM staging.pages WHERE NOT published OR page > ?1)
        """, Value(pages)
      ) { $0.int(0) }
      if isDue != nil { try settle(database, pages: pages) }
    } catch {
      do { try renewStaging(database, because: "\(error)") } catch {
        logger.error("staging cannot be made anew: \(error)")
      }
    }
  }
}
