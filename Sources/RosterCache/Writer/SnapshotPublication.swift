internal import FoundationEssentials
internal import RosterCore
internal import RosterDecode

/// Turns one snapshot into the next, in one pass over the pulled pages, within one transaction.
struct SnapshotPublication {
  var data: PullData
  let waiting: WaitingDefinitions
  let pull: PullFacts
  let sync: Int64
  let time: Date
  let upstream: String

  /// The time of the publication.
  var at: String { time.rfc3339 }
  var family: Family { data.family }
}
