import RosterCache
import RosterCore
import RosterDefinition
import RosterPostgres

/// Brings one schema up to one snapshot of the cache.
struct CatchUp {
  let cache: String
  let replica: Replica

  /// The result of a call.
  struct Report: Equatable {
    /// The place that the schema has now.
    var position: ReplicaPosition
    /// A sentence about the copied rows; nil if the schema had everything.
    var done: String?
  }

  /// - Parameters:
  ///   - reader: The only reader of this process. Opening another one would drop SQLite's locks of the first
  ///     (sqlite.org/howtocorrupt.html, 2.2).
  ///   - known: The contents of the schema.
  ///   - isFresh: Copies everything even if the feed says what changed.
  /// - Throws: `Failure`, `Stopped`.
  func run(_ reader: CacheReader, from known: Replica.State?, isFresh: Bool = false) throws -> Report {
    // A look outside the transaction: most of them find nothing new.
    let copy = SnapshotCopy(replica: replica, cache: resolved(cache), known: known, isFresh: isFresh)
    if let report = try reader.export(copy.upToDate) { return report }
    return try replica.transaction("copy the snapshot") {
      var copy = copy
      // Another process may have copied since.
      copy.known = try replica.state()
      let (staged, report) = try reader.export(copy.stage)
      try replica.publish(staged)
      return report
    }
  }
}

/// The copy of one snapshot. The cache's read transaction ends as soon as the rows are on the server.
private struct SnapshotCopy {
  let replica: Replica
  let cache: String
  var known: Replica.State?
  let isFresh: Bool

  func upToDate(_ snapshot: SnapshotExport) throws -> CatchUp.Report? {
    guard try reason(batch(snapshot), snapshot: snapshot) == nil, known?.position == snapshot.position else {
      return nil
    }
    return CatchUp.Report(position: snapshot.position, done: nil)
  }

  func stage(_ snapshot: SnapshotExport) throws -> (Replica.Staged, CatchUp.Report) {
    var batch = try batch(snapshot)
    let syncs = try snapshot.keptSyncs()
    batch.kept = [
      "changes": KeptRows(first: snapshot.earliestChange), "syncs": syncs, "sync_resources": syncs,
    ]
    let reason = reason(batch, snapshot: snapshot)
    let scope = reason == nil ? try changed(snapshot) : .whole
    let before = known?.position
    let staged = try replica.stage(
      batch, scope: scope, isRemade: isFresh,
      rows: { table, put in try snapshot.rows(of: table, Self.rows(of: table, scope, before: before), body: put) },
      ids: { resource, put in try snapshot.changedRecords(of: resource, after: before?.change ?? 0, put) })
    let changes = snapshot.position.change - (before?.change ?? 0)
    let done = reason.map { "copied everything: \($0)" } ?? "applied \(Int(changes).counted(as: "change"))"
    return (staged, CatchUp.Report(position: snapshot.position, done: done))
  }

  private func batch(_ snapshot: SnapshotExport) throws -> Replica.Batch {
    guard snapshot.verifiedAt != nil else {
      throw Failure(
        .badAnswer, step: "copy the cache", subject: cache, cause: "no snapshot has been published yet",
        hint: "wait for the first sync: rosterctl wait")
    }
    try refuseReservedNames(snapshot.tables)
    return Replica.Batch(
      tables: snapshot.tables, position: snapshot.position, cache: cache, upstream: snapshot.upstream)
  }

  /// Why everything is copied; nil if the feed says what changed.
  private func reason(_ batch: Replica.Batch, snapshot: SnapshotExport) -> String? {
    guard let known else { return "the schema is new" }
    if isFresh { return "--fresh asks for it" }
    if !known.fits(batch) { return "the tables have other columns" }
    if known.position.feed != snapshot.position.feed { return "the cache has another feed" }
    if known.position.change > snapshot.position.change || known.position.sync > snapshot.position.sync {
      return "the cache is older than the copy"
    }
    if let oldest = snapshot.earliestChange, oldest > known.position.change + 1 {
      return "the needed history has expired (cache.history)"
    }
    return nil
  }

  private func changed(_ snapshot: SnapshotExport) throws -> Replica.Scope {
    .changed(try snapshot.changedResources(after: known?.position.change ?? 0))
  }

  private static func rows(
    of table: ReplicaTable, _ scope: Replica.Scope, before: ReplicaPosition?
  ) -> SnapshotExport.Scope {
    guard case .changed = scope, let before else { return .all }
    return switch table.role {
    case .whole: .all
    case .records, .elements: .changed(after: before.change)
    case .appended: .from(table.name == "changes" ? before.change + 1 : before.sync)
    }
  }

  private func refuseReservedNames(_ tables: [ReplicaTable]) throws {
    guard let fault = ReplicaNames.fault(in: tables) else { return }
    throw Failure(
      .configuration, step: "copy the cache", subject: cache, cause: fault,
      hint: "give the table or the column another name in the definition")
  }
}
