internal import FoundationEssentials
internal import RosterDecode
package import RosterModel

/// Turns one snapshot into the next, in one pass over the pulled pages, within one transaction.
struct SnapshotPublication {
  let database: Database
  let file: PageSpool
  let schema: Schema
  let plans: [RecordPlan]
  let pull: PullFacts
  let sync: Int64
  let time: Date
  let upstream: String
  let interruption: Interruption

  /// The time of the publication.
  var at: String { time.rfc3339 }
  var family: Family { Family(tables: schema.tables) }

  init(
    database: Database, file: PageSpool, schema: Schema, plans: [RecordPlan], pull: PullFacts, sync: Int64,
    at time: Date, upstream: String, interruption: Interruption
  ) {
    (self.database, self.file, self.schema, self.plans) = (database, file, schema, plans)
    (self.pull, self.sync, self.time, self.upstream, self.interruption) = (pull, sync, time, upstream, interruption)
  }

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
    let haveResourcesChanged = try defineResources()
    for index in family.descending {
      let decision = decisions[plans[index].resource.name] ?? RemovalDecision()
      var publication = try ResourcePublication(self, at: index, decision: decision)
      try publication.write()
      try publication.sum(into: &record)
      if publication.isNew { isNew = true }
    }
    try writeTrust()
    if haveResourcesChanged, hadSnapshot {
      try database.renewFeed()
    }
    record.outcome = isNew || haveResourcesChanged || !hadSnapshot ? .published : .unchanged
    return record
  }

  /// A fresh sync restores trust in validators; a lie ends it (P15.6).
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

  /// Adds the tables of new resources, and drops those of resources that are missing from the configuration. Returns
  /// true if there were any.
  private func defineResources() throws -> Bool {
    let found = try database.rows("SELECT name FROM main.resources") { $0.text(0) }
    let gone = found.filter { name in !schema.tables.contains { $0.resource.name == name } }
    let new = schema.tables.filter { !found.contains($0.resource.name) }
    guard !gone.isEmpty || !new.isEmpty else { return false }
    for name in gone { try schema.drop(name, in: database) }
    for tables in new { try schema.add(tables, to: database) }
    try schema.defineRemoved(database)
    return true
  }
}

/// The decisions about one resource that the publication needs besides its pages.
package struct RemovalDecision: Sendable, Equatable {
  /// The decision about records that the pull has missed.
  package enum Removal: Sendable, Equatable {
    /// Missing records are kept: one of them or the control question failed, or a record of unknown key was rejected.
    case keepsAll
    /// The definition decides (P8): missing records without an answer are removed, or those that two successive whole
    /// pulls have missed.
    case missing
  }

  /// The proof that the pull is complete (P7), the strongest first.
  package enum Proof: String, Sendable, CaseIterable { case count, end, since, weak }

  /// The decision about records that the pull has missed.
  package var removal: Removal
  /// The proof, for the column `resources.proof`.
  package var proof: Proof
  /// The change of the mark of a list with `since`.
  package var mark = Since.MarkMove.stays
  /// False if a missing record could not be asked for, so that a whole pull with `since` is due again.
  package var isSettled = true
  /// Number of requests of this sync for the resource.
  package var requests = 0

  /// The defaults are those of a pull without faults and with the weakest proof.
  package init(_ removal: Removal = .missing, proof: Proof = .weak) {
    self.removal = removal
    self.proof = proof
  }
}
