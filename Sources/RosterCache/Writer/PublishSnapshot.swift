package import FoundationEssentials
internal import Logging
package import RosterCore
internal import RosterDecode

extension Cache {
  /// Publishes the pulled pages of this sync as the snapshot, all resources in one transaction with the sync's own row,
  /// and deletes expired history. If nothing is new, it writes only that row and those of `sync_resources`. Throws (70)
  /// unless each resource was compared.
  ///
  /// Throws CancellationError if `interruptPublish` or a cancelled task interrupted it: then nothing has changed.
  /// - Parameters:
  ///   - report: Its exit is written unchanged, and its error too unless lists in records are cut. The result is the
  ///     written row, published or unchanged.
  ///   - decisions: Decisions by the names of resources. A missing resource has the default.
  ///   - now: Evaluated at the beginning for `changes`, and at the end for the row.
  package func publish(
    _ report: SyncRecord, decisions: [String: RemovalDecision], at now: @autoclosure @escaping @Sendable () -> Date,
    history: Duration
  ) throws -> SyncRecord {
    try Task.checkCancellation()
    try verifyNotReplaced(includingWAL: true)
    _ = try pulledPages("publish the snapshot")
    try expectComparisons()
    let published = try Schema(plans.map(\.resource))
    database?.arm(interruption)
    defer { try? interruption.disarm() }
    // A task that was cancelled before `arm` has not interrupted anything.
    try Task.checkCancellation()
    let written = try performPull("publish the snapshot") { database, file in
      try database.transaction(commits: interruption.disarm) {
        let publication = SnapshotPublication(
          data: data(database, file: file), waiting: waiting, pull: pull, sync: report.id, time: now(),
          upstream: upstream)
        var written = try publication.write(into: report, decisions)
        let end = now()
        written.finishedAt = end.rfc3339
        try SyncRow.write(written, to: database)
        try SyncRow.prune(database, history: history, at: end)
        return written
      }
    }
    try verifyNotReplaced(includingWAL: false)
    endWaiting(published)
    if written.outcome == .published, let database { tellSnapshot(database) }
    emptyPulled()
    shortenLog(above: written.outcome == .published ? 0 : Self.longLog)
    replaceOlder()
    database?.releaseMemory()
    return written
  }

  /// The tables are those of the definitions now. A view that cannot be dropped is replaced by the next one.
  private func endWaiting(_ published: Schema) {
    if waiting.isEmpty { return }
    let ended = waiting
    (waiting, schema) = (WaitingDefinitions(), published)
    do { if let database { try ended.dropViews(in: database) } } catch {
      logger.notice("cannot drop the views of an earlier definition: \(error)")
    }
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

extension SnapshotPublication {
  private var database: Database { data.database }

  /// Writes everything but the sync's row, whose columns it fills in.
  func write(into record: SyncRecord, _ decisions: [String: RemovalDecision]) throws -> SyncRecord {
    var record = record
    let before = try database.first("SELECT snapshot, upstream FROM main.cache_info") {
      (snapshot: $0.optionalInteger(0), upstream: $0.optionalText(1))
    }
    let hadSnapshot = before?.snapshot != nil
    var isNew = before?.upstream != upstream
    if isNew { try database.run("UPDATE main.cache_identity SET upstream = ?", .text(upstream)) }
    (record.pages, record.records, record.added, record.changed) = (0, 0, 0, 0)
    (record.removed, record.rejected, record.skipped) = (0, 0, 0)
    let defined = try defineResources()
    var publication = self
    publication.data.tables = defined.tables
    for index in publication.family.descending {
      let decision = decisions[data.plans[index].resource.name] ?? RemovalDecision()
      var resource = try ResourcePublication(publication, at: index, decision: decision)
      try resource.write()
      try resource.sum(into: &record)
      try publication.noteEmptied(resource.records.emptied, of: resource.tables, in: &record)
      if resource.isNew { isNew = true }
    }
    for index in publication.family.descending {
      record.changed += try publication.noteStaying(index)
    }
    try waiting.drop(defined.aside, in: database)
    try waiting.drop(defined.aside, in: database)
    try publication.noteLacks(in: &record)
    try writeTrust()
    if defined.endsFeed, hadSnapshot { try database.renewFeed() }
    record.outcome = isNew || defined.isNew || !hadSnapshot ? .published : .unchanged
    return record
  }

  /// A fresh sync restores trust in validators; a lie ends it.
  private func writeTrust() throws {
    if pull.isFresh {
      try database.run(
        "UPDATE main.resources SET validators = 'trusted', distrusted_since = NULL WHERE validators <> 'trusted'")
      return
    }
    for resource in pull.lying {
      try database.run(
        """
        UPDATE main.resources SET validators = 'distrusted',
          distrusted_since = (SELECT started_at FROM main.syncs WHERE id = ?2)
        WHERE name = ?1 AND validators = 'trusted'
        """, .text(resource), .integer(sync))
      try database.run(
        """
        UPDATE main.cache_pages SET etag = NULL, last_modified = NULL
        WHERE (etag IS NOT NULL OR last_modified IS NOT NULL) AND list_id IN (
          SELECT l.id FROM main.cache_resources c JOIN main.cache_lists l ON l.resource_id = c.id WHERE c.name = ?1)
        """, .text(resource))
    }
  }

  /// Notes the records that this sync has not written, and that have other values by another definition. Returns
  /// their number.
  private func noteStaying(_ index: Int) throws -> Int {
    let tables = data.tables[index]
    guard let stored = tables.stored, !tables.hasValues(of: stored) else { return 0 }
    let (before, after) = (stored.jsonText(of: "t.\(tables.id)"), tables.jsonText(of: "t.\(tables.id)"))
    let isOther = "t.changed_sync < ?1 AND t.first_sync < ?1 AND (\(before)) IS NOT (\(after))"
    try database.run(
      """
      INSERT INTO main.cache_changes(sync_id, resource, record_id, kind, at, before, after)
      SELECT ?1, ?2, t.\(tables.id), 'changed', ?3, (\(before)), (\(after)) FROM main.\(tables.table) t
      WHERE \(isOther) ORDER BY t.\(tables.id)
      """, .integer(sync), .text(tables.resource.name), .text(at))
    let changed = try database.run(
      "UPDATE main.\(tables.table) AS t SET changed_sync = ?1 WHERE \(isOther)", .integer(sync))
    try database.run(
      "UPDATE main.sync_resources SET changed = changed + ?3 WHERE sync_id = ?1 AND resource = ?2", .integer(sync),
      .text(tables.resource.name), Value(changed))
    return changed
  }

  private struct Defined {
    var tables: [ResourceTables]
    /// The tables of definitions that this publication replaces.
    var aside: [ResourceTables]
    var isNew: Bool
    var endsFeed: Bool
  }

  /// Makes the tables of new resources and of waiting definitions, and drops those of resources that are missing from
  /// the configuration.
  private func defineResources() throws -> Defined {
    let resources = data.plans.map(\.resource)
    let found = Set(try database.rows("SELECT name FROM main.resources") { $0.text(0) })
    let gone = found.subtracting(resources.map(\.name)).sorted()
    let added = resources.filter { !found.contains($0.name) }
    let endsFeed = !gone.isEmpty || !added.isEmpty || waiting.endsFeed
    let schema = try Schema(resources)
    if waiting.isEmpty, !endsFeed { return Defined(tables: schema.tables, aside: [], isNew: false, endsFeed: false) }
    let aside = try waiting.setAside(schema, in: database)
    for name in gone { try schema.drop(name, in: database) }
    let tables = try waiting.publish(aside, resources: resources, schema: schema, in: database)
    for tables in tables where !found.contains(tables.resource.name) { try schema.add(tables, to: database) }
    try schema.defineRemoved(database)
    return Defined(tables: tables, aside: aside, isNew: true, endsFeed: endsFeed)
  }
}
