package import RosterCore
internal import RosterDecode

/// The decisions about one resource that the publication needs besides its pages.
package struct RemovalDecision: Sendable, Equatable {
  /// The decision about records that the pull has missed.
  package enum Removal: Sendable, Equatable {
    /// Missing records are kept: the control question failed, or a record of unknown key was rejected.
    case keepsAll
    /// The definition decides: missing records are removed, or those that two successive whole pulls have missed.
    /// With `ask`, `by_key` was not asked.
    case asDefined
    /// Missing records are removed if `by_key` was asked for them in this sync, and did not find them.
    case notFound
  }

  /// The proof that the pull is complete, the strongest first.
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

  /// True if missing records stay, because nothing could decide about them.
  package var keepsMissing: Bool { removal == .keepsAll }
  /// True if `by_key` was asked for the missing records.
  package var isAsked: Bool { removal == .notFound }

  /// The defaults are those of a pull without faults and with the weakest proof.
  package init(_ removal: Removal = .asDefined, proof: Proof = .weak) {
    self.removal = removal
    self.proof = proof
  }
}

extension RemovalDecision {
  /// The query for the ids of records of a list to remove. nil if no record is removed.
  func removalQuery(for plan: RecordPlan, comparison found: ResourceComparison) -> String? {
    let rule = plan.resource.removal
    let missing = KeyTables(isText: plan.hasTextKeys).missing
    if found.isIncremental {
      // The rejected record may be a later version of any of them.
      if found.rejectedUnknown > 0 { return nil }
      guard found.missing + found.asked > 0 else { return nil }
      return """
        SELECT record_id FROM \(missing)
        WHERE resource = ?1 AND list = ?2 AND record_id > \(KeyTables.lastPlaceholder)
          AND \(isRemoved(comparison: found)) ORDER BY record_id
        """
    }
    guard !keepsMissing, !rule.keeps, found.missing > 0 else { return nil }
    let isRemoved =
      if rule.asks, isAsked { KeyTables.isNotFound } else if rule.waits, !found.listChanged {
        "NOT answered AND absent > 0"
      } else { "NOT \(KeyTables.isFound)" }
    return "SELECT record_id FROM \(missing) WHERE resource = ?1 AND list = ?2 AND \(isRemoved) ORDER BY record_id"
  }

  /// A condition for rows of `missing` after an incremental pull: the record is removed. Either `where` skips it now,
  /// or `by_key` did not find it.
  func isRemoved(comparison found: ResourceComparison) -> String {
    let isSkipped = found.isAsked ? "false" : "NOT answered"
    let isMissing =
      switch removal {
      case .keepsAll: "false"
      case .asDefined: found.isAsked ? "NOT \(KeyTables.isFound)" : KeyTables.isNotFound
      case .notFound: KeyTables.isNotFound
      }
    return "(\(isSkipped) OR \(isMissing))"
  }

  /// Query for the ids of records that this pull misses for the first time and that stay. nil if the definition
  /// keeps no such record.
  func firstMissedQuery(for plan: RecordPlan, comparison found: ResourceComparison) -> String? {
    let rule = plan.resource.removal
    guard !keepsMissing, found.missing > 0, !found.isIncremental, rule.keeps || rule.waits && !found.listChanged else {
      return nil
    }
    let missing = KeyTables(isText: plan.hasTextKeys).missing
    return """
      SELECT record_id FROM \(missing) WHERE resource = ?1 AND list = ?2 AND NOT answered AND absent = 0
      ORDER BY record_id
      """
  }

  /// The number of whole pulls in succession that have missed a record of `m`, as SQL. With `never` it is 1, because
  /// nothing counts further; with `ask` it is 0, because `by_key` decides. It stays if nothing could decide.
  func absence(for plan: RecordPlan) -> String {
    let rule = plan.resource.removal
    return keepsMissing ? "m.absent" : rule.waits ? "m.absent + 1" : rule.keeps ? "1" : "0"
  }
}

extension RemovalDecision.Removal {
  /// The number of the decision in `next.decision`.
  var flag: Int64 {
    switch self {
    case .keepsAll: 0
    case .asDefined: 1
    case .notFound: 2
    }
  }

  /// The decision of that number.
  init(flag: Int64) { self = [.keepsAll, .asDefined, .notFound].first { $0.flag == flag } ?? .keepsAll }
}

extension ResourceComparison {
  /// Number of missing records that would be removed if nothing held them back.
  package func leaving(by rule: Resource.Removal) -> Int {
    if isIncremental { return rejectedUnknown == 0 ? missing : 0 }
    return switch rule {
    case .ask: missing
    case .twice: rejectedUnknown == 0 ? missingTwice : 0
    case .never: 0
    }
  }
}
