/// The comparison of one resource's pulled pages with the snapshot, on which P7, P8 and P9 depend.
package struct ResourceComparison: Sendable, Equatable {
  /// `Resource.name`.
  package var resource: String
  /// Pages that were transferred or are unchanged.
  package var pages = 0
  /// Number of different keys on these pages.
  package var distinct = 0
  /// Further occurrences of a key. In a list by `number` or `offset` they are a sign of drift; in others the last one
  /// wins (P7).
  package var repeats = 0
  /// Further occurrences of the key of a rejected or skipped record, in a storable record or another rejected or
  /// skipped one. Such a record is counted twice and may hide that another one was missed (P7).
  package var passedRepeats = 0
  /// Records that cannot be stored.
  package var rejected = 0
  /// Rejected records whose key is not known.
  package var rejectedUnknown = 0
  /// Records that `where` skips.
  package var skipped = 0
  /// Records of the snapshot that are neither pulled nor rejected.
  package var missing = 0
  /// Missing records that the previous whole pull has missed too: `removal = "twice"` would remove them now.
  package var missingTwice = 0
  /// Records of the snapshot.
  package var snapshot = 0
  /// True if the snapshot's records belong to another list, because of another `path`, `key`, `records` or `where`.
  /// Missing records are then removed without a guard, and are not requested by key (P8).
  package var listChanged = false

  /// True if only the changed records were pulled. A missing record is then one that `where` skips now (I5.2).
  package var isIncremental = false
  /// The pages of an incremental pull have keys only, and `by_key` is asked for each of them (I9.1).
  package var isAsked = false
  /// Number of keys to ask for.
  package var asked = 0
  /// Keys that occur on two pages of an incremental pull (I6.2).
  package var acrossPages = 0
  /// Elements of all pages of an incremental pull.
  package var received = 0

  /// Records of the snapshot that go with their removed parents (E5.1).
  package var removedWithParents = 0

  /// The comparison of an empty pull without a snapshot.
  package init(resource: String) { self.resource = resource }
}

/// A record of the snapshot that no page lists.
package struct MissingRecord: Sendable, Equatable {
  /// The key by which upstream identifies a record.
  package enum Key: Sendable, Hashable {
    case integer(Int64)
    case text(String)
  }

  /// Its record id.
  package var id: Int64
  /// The key by which upstream identifies the record.
  package var key: Key
}

/// An answer of `by_key` that is part of a sync.
package struct KeptAnswer: Sendable, Equatable {
  /// Number of its records that cannot be stored.
  package var rejected: Int
  /// Number of missing records that it has.
  package var found: Int
}

/// A child list whose pages do not fit together.
package struct ListDrift: Sendable, Equatable {
  /// Identifies the list in this pull.
  package var place: ListPlace
  /// The reason, as a clause.
  package var reason: String

  /// The drift of that list.
  package init(place: ListPlace, reason: String) { (self.place, self.reason) = (place, reason) }
}

extension ResourceComparison {
  /// Adds the sums of one list.
  mutating func add(_ list: ResourceComparison) {
    pages += list.pages
    distinct += list.distinct
    repeats += list.repeats
    passedRepeats += list.passedRepeats
    rejected += list.rejected
    rejectedUnknown += list.rejectedUnknown
    skipped += list.skipped
    missing += list.missing
    missingTwice += list.missingTwice
    listChanged = listChanged || list.listChanged
  }
}
