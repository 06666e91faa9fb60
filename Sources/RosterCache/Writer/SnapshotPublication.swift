internal import FoundationEssentials
internal import RosterDecode
package import RosterModel

/// Turns one snapshot into the next, in one pass over the pulled pages, within one transaction.
struct SnapshotPublication {
  let data: PullData
  let schema: Schema
  let pull: PullFacts
  let sync: Int64
  let time: Date
  let upstream: String

  /// The time of the publication.
  var at: String { time.rfc3339 }
  var family: Family { data.family }
}

/// The decisions about one resource that the publication needs besides its pages.
package struct RemovalDecision: Sendable, Equatable {
  /// The decision about records that the pull has missed.
  package enum Removal: Sendable, Equatable {
    /// Missing records are kept: the control question failed, or a record of unknown key was rejected.
    case keepsAll
    /// The definition decides (P8): missing records are removed, or those that two successive whole pulls have missed.
    /// With `ask`, `by_key` was not asked.
    case asDefined
    /// Missing records are removed if `by_key` was asked for them in this sync, and did not find them.
    case notFound
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
  package init(_ removal: Removal = .asDefined, proof: Proof = .weak) {
    self.removal = removal
    self.proof = proof
  }
}
