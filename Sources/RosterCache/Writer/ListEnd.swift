package import FoundationEssentials
package import RosterCore

/// A list of a child that a sync requests.
package struct WantedList: Sendable, Equatable {
  /// Identifies the list in this pull.
  package var place: ListPlace
  /// The values of its ancestors.
  package var values: ParentValues
  /// The mark or delta token that an incremental pull starts from; nil if the list is pulled whole.
  package var start: SinceStart?
  /// The mark at the beginning of the sync; nil without one.
  package var mark: Mark?
  /// The time of its last whole pull; nil if it is not noted.
  package var wholeAt: Date?
}

extension WantedList {
  /// The only list of a resource without a parent.
  package static func only(from start: SinceStart?) -> WantedList {
    WantedList(place: ListPlace(), values: ParentValues([]), start: start)
  }
}

/// The outcome of one child list in a pull.
package struct ListEnd: Sendable, Equatable {
  /// The state of the list after its pull.
  package enum State: Sendable, Equatable {
    /// All its pages are known.
    case pulled
    /// It has no records: it was not pulled, or the answer to an incremental pull says so.
    case empty
    /// The reason, as one sentence.
    case failed(String)
    /// Its parent disappeared, with the reason.
    case vanished(String)
  }

  /// Name of the resource.
  package var resource: String
  /// Identifies the list in this pull.
  package var place: ListPlace
  /// The state of the list after its pull.
  package var state: State
  /// `Date` of its last answer; nil if no answer was needed.
  package var answered: Date?
  /// Time of its end on the local clock; nil if no answer was needed.
  package var receivedAt: Date?
  /// The number of records that upstream reports; nil without `count`.
  package var count: Int?
  /// The change of the mark.
  package var mark = Since.MarkMove.stays
  /// True if its incremental pull drifted too often, and its records are published all the same.
  package var isWeak: Bool

  /// The end of that list.
  package init(
    _ resource: String, at place: ListPlace, state: State, answered: Date? = nil, count: Int? = nil,
    isWeak: Bool = false
  ) {
    (self.resource, self.place, self.state) = (resource, place, state)
    (self.answered, self.count, self.isWeak) = (answered, count, isWeak)
  }
}

/// Numbers of the lists of a child in a sync.
package struct ListCounts: Sendable, Equatable {
  /// Lists that this sync requests or has requested.
  package var requested = 0
  /// Lists that were not requested yet.
  package var waiting = 0
  /// Lists that failed or vanished.
  package var failed = 0
  /// Failed lists that 404 or 410 answered.
  package var notFound = 0
  /// Lists of `notFound` that the sync before had not lost.
  package var vanished = 0
  /// Lists that were pulled, by this sync or by an interrupted one.
  package var obtained = 0
  /// Lists that need no request.
  package var empty = 0
  /// Lists among the obtained ones that were pulled whole.
  package var whole = 0
  /// Lists of the snapshot, if one has failed.
  package var published = 0
  /// True if a list of the resource was ever pulled by this definition.
  package var wasEverPulled = false
}

/// Keys of records of the snapshot, for a control question.
package struct LatestKeys: Sendable {
  /// The keys, those of the latest change first.
  package var keys: [MissingRecord.Key]
  /// False if they belong to another list than the one that was named.
  package var isOfList: Bool
  /// The values of the parent of their list; empty for a resource without parents.
  package var values: ParentValues
}
