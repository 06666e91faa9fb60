/// What was pulled of one resource, held against the snapshot: what P7, P8 and P9 decide by.
package struct ResourceComparison: Sendable, Equatable {
  /// `Resource.name`.
  package var resource: String
  /// Pages that came or are as they were.
  package var pages = 0
  /// Keys on them, each counted once.
  package var distinct = 0
  /// Keys that were met once more: drift in a list by `number` or `offset`; else the later one counts (P7).
  package var repeats = 0
  /// Keys of rejected or skipped records that were met once more, whether as such or as a record's to be stored: one
  /// record counts as two, and hides that another one was missed (P7).
  package var passedRepeats = 0
  /// Records that cannot be stored.
  package var rejected = 0
  /// Of these, records that do not say whose they are.
  package var rejectedUnknown = 0
  /// By `where`.
  package var skipped = 0
  /// Records of the snapshot that are neither pulled nor rejected.
  package var missing = 0
  /// Of these, those that the whole pull before has missed too: what `removal = "twice"` would remove now.
  package var missingTwice = 0
  /// Records of the snapshot.
  package var snapshot = 0
  /// The snapshot's are those of another list, by another `path`, `key`, `records` or `where`: who is missing goes,
  /// without a guard, and nobody is asked for (P8).
  package var isOfAnotherList = false

  /// Only the records that changed were pulled: a missing record is one that `where` skips now (I5.2).
  package var isIncremental = false
  /// The pages of an incremental pull have keys only, and `by_key` is asked for each of them (I9.1).
  package var isAsked = false
  /// Number of keys to ask for.
  package var asked = 0
  /// Keys that are on two pages of an incremental pull (I6.2).
  package var acrossPages = 0
  /// Elements of all pages of an incremental pull.
  package var received = 0

  /// Nothing was pulled, and there is no snapshot.
  package init(resource: String) { self.resource = resource }
}

/// A record of the snapshot that no page lists.
package struct MissingRecord: Sendable, Equatable {
  /// What upstream knows it by.
  package enum Key: Sendable, Hashable {
    case integer(Int64)
    case text(String)
  }

  /// Its record id.
  package var id: Int64
  /// What upstream knows it by.
  package var key: Key
}

/// An answer of `by_key` that is part of a sync.
package struct KeptAnswer: Sendable, Equatable {
  /// Number of its records that cannot be stored.
  package var rejected: Int
  /// Number of missing records that it has.
  package var found: Int
}
