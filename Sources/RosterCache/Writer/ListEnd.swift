package import FoundationEssentials
package import RosterModel

/// A list of a child that a sync requests.
package struct WantedList: Sendable, Equatable {
  /// Identifies the list in this pull.
  package var place: ListPlace
  /// The values of its ancestors.
  package var values: ParentValues
}

/// The outcome of one child list in a pull.
package struct ListEnd: Sendable, Equatable {
  /// The state of the list after its pull.
  package enum State: Sendable, Equatable {
    /// All its pages are known.
    case pulled
    /// It has no records, and was not pulled (E4.1).
    case empty
    /// The reason, as one sentence (E7.1).
    case failed(String)
    /// Its parent disappeared (E7.3), with the reason.
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
  /// The number of records that upstream reports; nil without `count`.
  package var count: Int?

  /// The end of that list.
  package init(_ resource: String, _ place: ListPlace, _ state: State, answered: Date? = nil, count: Int? = nil) {
    (self.resource, self.place, self.state) = (resource, place, state)
    (self.answered, self.count) = (answered, count)
  }
}

/// Numbers of the lists of a child in a sync.
package struct ListCounts: Sendable, Equatable {
  /// Lists that this sync requests or has requested.
  package var requested = 0
  /// Requested lists that an interrupted sync had already pulled completely (E8.1).
  package var kept = 0
  /// Lists that failed or vanished.
  package var failed = 0
  /// Failed lists whose parent disappeared.
  package var vanished = 0
  /// Lists that were obtained.
  package var obtained = 0
  /// True if a list of the resource was ever pulled by this definition.
  package var wasEverPulled = false

  /// No list.
  package init() {}
}
