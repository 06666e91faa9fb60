internal import FoundationEssentials
internal import Logging
internal import RosterModel

extension Cache {
  func publish(
    _ report: SyncRecord, decisions: [String: RemovalDecision], at now: @autoclosure @escaping @Sendable () -> Date,
    history: Duration
  ) throws -> SyncRecord {
    try Task.checkCancellation()
    try verifyNotReplaced(includingWAL: true)
    _ = try pulledPages("publish the snapshot")
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
        try SyncRow.write(written, to: database)
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
    do { try dropPulled(database, file: pulled) } catch {
      do { try renewPulled(database, because: "\(error)") } catch {
        logger.error("cannot replace the file of pulled pages: \(error)")
      }
    }
  }
}
