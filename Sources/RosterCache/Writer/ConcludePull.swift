package import FoundationEssentials
package import RosterCore
internal import RosterDecode

extension Cache {
  /// Ends a sync that is not meant to publish. Counts what it would have changed, keeps its pulled pages for the next
  /// sync, and writes its row.
  ///
  /// Throws CancellationError if `interruptPublish` or a cancelled task interrupted it.
  /// - Parameters:
  ///   - report: Its exit and error are written unchanged. The result is the written row, with the outcome `tried`.
  ///   - decisions: As in `publish`.
  package func tried(
    _ report: SyncRecord, decisions: [String: RemovalDecision], at now: @autoclosure @escaping @Sendable () -> Date,
    history: Duration
  ) throws -> SyncRecord {
    try Task.checkCancellation()
    var report = try sum(report, decisions: decisions)
    try concludePull(of: report.id, isGuarded: false, isDryRun: true, decisions)
    report.outcome = .tried
    let end = now()
    report.finishedAt = end.rfc3339
    try self.end(report, at: end, history: history)
    return report
  }

  /// Keeps the composition of a whole pull, so that readers can compare it with the snapshot.
  /// - Parameters:
  ///   - isGuarded: True if the removal guard stopped the pull: the next sync pulls its pages without a validator
  ///     again.
  ///   - isDryRun: True if the next sync must ask upstream for each of the pages again, as after the guard.
  ///   - decisions: The decisions of the publication about missing records, if it made any.
  package func concludePull(
    of sync: Int64, isGuarded: Bool, isDryRun: Bool = false, _ decisions: [String: RemovalDecision]
  ) throws {
    try performPull("keep pulled pages") { _, file in
      let removals = plans.map { plan -> RemovalDecision.Removal in
        decisions[plan.resource.name]?.removal ?? pull.compared[plan.resource.name]?.removal ?? .asDefined
      }
      let incremental = Set(plans.indices.filter { pull.incremental.contains(plans[$0].resource.name) })
      let parts = removals.enumerated().map { index, removal in
        PullConclusion.Part(removal: removal, isIncremental: incremental.contains(index))
      }
      let conclusion = PullConclusion(sync: sync, isFresh: pull.isFresh, parts: parts)
      try file.conclude(conclusion, isGuarded: isGuarded || isDryRun)
    }
  }

  var source: PullKey { PullKey(upstream, resources: schema.tables.map(\.resource)) }

  private func sum(_ report: SyncRecord, decisions: [String: RemovalDecision]) throws -> SyncRecord {
    try performPull("compare the pull with the snapshot") { database, file in
      try expectComparisons()
      return try interruptible(database) {
        var report = report
        (report.pages, report.records, report.rejected, report.skipped) = (0, 0, 0, 0)
        let known = Set(plans.map(\.resource.name))
        for (name, records) in try ResourceDifferences.snapshot(database) where !known.contains(name) {
          report.removed += records
        }
        for index in plans.indices {
          let removal = decisions[plans[index].resource.name]?.removal ?? .asDefined
          let isKept = schema.tables[index].keepsRecords
          let before = isKept ? try ResourceDifferences.snapshot(database)[plans[index].resource.name] ?? 0 : 0
          report.records += before
          let data = data(database, file: file)
          let owners = try WindowOwners(of: index, in: data)
          try data.forEachListToPublish(of: index) { scope, found in
            var differences = try ResourceDifferences(data, scope: scope, found: found, owners: owners)
            try differences.find(removal, table: nil)
            differences.sum(into: &report)
          }
          let removed = pull.compared[plans[index].resource.name]?.removedWithParents ?? 0
          report.removed += removed
          report.records -= removed
        }
        return report
      }
    }
  }
}

extension ResourceComparison {
  /// The default without a decision. A rejected record of unknown key may be any of the missing ones.
  var removal: RemovalDecision.Removal { rejectedUnknown == 0 ? .asDefined : .keepsAll }
}
