package import FoundationEssentials
internal import Logging
package import RosterModel

extension Cache {
  /// Makes what this sync has pulled the snapshot, all resources in one transaction with the sync's own row, and
  /// deletes what `history` has ended. Where nothing is new (P5) it writes that row and those of `sync_resources`
  /// alone.
  ///
  /// Throws CancellationError where `interruptPublish` broke it off: then nothing has changed.
  /// - Parameters:
  ///   - report: Its exit and error are written as given. Returned as written: published or unchanged.
  ///   - ends: By the names of resources; of one that is left out, the default.
  ///   - now: Read when it begins, for `changes`, and when it ends, for the row.
  package func publish(
    _ report: SyncRecord, _ ends: [String: ResourceEnd], at now: @autoclosure @escaping @Sendable () -> Date,
    history: Duration
  ) throws -> SyncRecord {
    try Task.checkCancellation()
    try expectInPlace(withLog: true)
    _ = try pulledPages("publish the snapshot")
    guard let compared = pull.compared else {
      throw Failure(.defect, step: "publish the snapshot", subject: path, cause: "what was pulled was not compared")
    }
    database?.arm(interruption)
    defer { try? interruption.disarm() }
    // A task that was cancelled before `arm` has interrupted nothing.
    try Task.checkCancellation()
    let written = try performPull("publish the snapshot") { database, file in
      try database.transaction(commits: interruption.disarm) {
        let publication = SnapshotPublication(
          database: database, file: file, schema: schema, plans: plans, compared: compared, sync: report.id,
          at: now().rfc3339, upstream: upstream, lying: pull.lying, isFresh: pull.isFresh, interruption: interruption)
        var written = try publication.write(into: report, ends)
        let end = now()
        written.finishedAt = end.rfc3339
        try SyncRow.write(written, database)
        try SyncRow.prune(database, history: history, at: end)
        return written
      }
    }
    try expectInPlace(withLog: false)
    if written.outcome == .published, let database { tellSnapshot(database) }
    emptyPulled()
    shortenLog(above: written.outcome == .published ? 0 : Self.longLog)
    database?.releaseMemory()
    return written
  }

  /// The snapshot is out: whatever happens to the pulled pages now costs no more than a pull.
  private func emptyPulled() {
    guard let database, let pulled else { return }
    do { try dropPulled(database, pulled) } catch {
      do { try renewPulled(database, because: "\(error)") } catch {
        logger.error("the file of pulled pages cannot be made anew: \(error)")
      }
    }
  }
}
