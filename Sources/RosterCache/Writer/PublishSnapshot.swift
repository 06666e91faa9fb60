package import FoundationEssentials
internal import Logging
package import RosterModel

extension Cache {
  /// Publishes the pulled pages of this sync as the snapshot, all resources in one transaction with the sync's own row,
  /// and deletes expired history. If nothing is new (P5), it writes only that row and those of `sync_resources`.
  ///
  /// Throws CancellationError if `interruptPublish` interrupted it: then nothing has changed.
  /// - Parameters:
  ///   - report: Its exit and error are written unchanged. The result is the written row, published or unchanged.
  ///   - ends: Decisions by the names of resources. A missing resource has the default.
  ///   - now: Evaluated at the beginning for `changes`, and at the end for the row.
  package func publish(
    _ report: SyncRecord, _ decisions: [String: RemovalDecision], at now: @autoclosure @escaping @Sendable () -> Date,
    history: Duration
  ) throws -> SyncRecord {
    try Task.checkCancellation()
    try verifyNotReplaced(includingWAL: true)
    _ = try pulledPages("publish the snapshot")
    try expectCompared("publish the snapshot")
    database?.arm(interruption)
    defer { try? interruption.disarm() }
    // A task that was cancelled before `arm` has not interrupted anything.
    try Task.checkCancellation()
    let written = try performPull("publish the snapshot") { database, file in
      try database.transaction(commits: interruption.disarm) {
        let publication = SnapshotPublication(
          database: database, file: file, schema: schema, plans: plans, pull: pull, sync: report.id, at: now(),
          upstream: upstream, interruption: interruption)
        var written = try publication.write(into: report, decisions)
        let end = now()
        written.finishedAt = end.rfc3339
        try SyncRow.write(written, database)
        try SyncRow.prune(database, history: history, at: end)
        return written
      }
    }
    try verifyNotReplaced(includingWAL: false)
    if written.outcome == .published, let database { tellSnapshot(database) }
    emptyPulled()
    shortenLog(above: written.outcome == .published ? 0 : Self.longLog)
    database?.releaseMemory()
    return written
  }

  /// The snapshot is published. A failure with the pulled pages costs at most another pull.
  private func emptyPulled() {
    guard let database, let pulled else { return }
    do { try dropPulled(database, pulled) } catch {
      do { try renewPulled(database, because: "\(error)") } catch {
        logger.error("cannot replace the file of pulled pages: \(error)")
      }
    }
  }
}
