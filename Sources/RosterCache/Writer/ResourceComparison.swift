/// The comparison of one resource's pulled pages with the snapshot. Proofs, removals and rejects depend on it.
package struct ResourceComparison: Sendable, Equatable {
  /// `Resource.name`.
  package var resource: String
  /// Pages that were transferred or are unchanged.
  package var pages = 0
  /// Number of different keys on these pages.
  package var distinct = 0
  /// Further occurrences of a key. In a list by `number` or `offset` they are a sign of drift; in others the last one
  /// wins.
  package var repeats = 0
  /// Further occurrences of the key of a rejected or skipped record, in a storable record or another rejected or
  /// skipped one. Such a record is counted twice and may hide that another one was missed.
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
  /// True if the snapshot's records belong to another list, because of another `path`, `key`, `records`, `where`,
  /// `shape` or parent. Missing records are then removed without a guard, and are not requested by key.
  package var listChanged = false

  /// True if only the changed records were pulled. A missing record is then one that `where` skips now.
  package var isIncremental = false
  /// The pages of an incremental pull have keys only, and `by_key` is asked for each of them.
  package var isAsked = false
  /// Number of keys to ask for.
  package var asked = 0
  /// Keys that occur on two pages of an incremental pull.
  package var acrossPages = 0
  /// Keys of unchanged pages of an incremental pull that a transferred page has too.
  package var keptRepeats = 0
  /// Elements of all pages of an incremental pull.
  package var received = 0

  /// Records of the snapshot that `where` skips now, in incremental pulls of a child's lists.
  package var skippedNow = 0
  /// Records of the snapshot that go with their removed parents.
  package var removedWithParents = 0
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

/// A child list whose pages do not fit together.
package struct ListDrift: Sendable, Equatable {
  /// Identifies the list in this pull.
  package var place: ListPlace
  /// The reason, as a clause.
  package var reason: String

  /// True if only the changed records of the list were pulled.
  package var isIncremental: Bool

  /// The drift of that list.
  package init(place: ListPlace, reason: String, isIncremental: Bool) {
    (self.place, self.reason, self.isIncremental) = (place, reason, isIncremental)
  }
}

extension ResourceComparison {
  private static var counts: [WritableKeyPath<ResourceComparison, Int>] {
    [
      \.pages, \.distinct, \.repeats, \.passedRepeats, \.rejected, \.rejectedUnknown, \.skipped, \.missing,
      \.missingTwice, \.snapshot, \.asked, \.acrossPages, \.keptRepeats, \.received, \.skippedNow,
      \.removedWithParents,
    ]
  }
  private static var flags: [WritableKeyPath<ResourceComparison, Bool>] { [\.listChanged, \.isIncremental, \.isAsked] }

  /// Everything but the name of the resource.
  var bytes: [UInt8] {
    let numbers = Self.counts.map { Int64(self[keyPath: $0]) } + Self.flags.map { self[keyPath: $0] ? 1 : 0 }
    return numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
  }

  /// The comparison of a list. It is empty if the bytes are.
  init(resource: String, _ bytes: [UInt8]) {
    self.init(resource: resource)
    var numbers = bytes.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count - 7, by: 8).map {
        Int(Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: Int64.self)))
      }
    }[...]
    for count in Self.counts { self[keyPath: count] = numbers.popFirst() ?? 0 }
    for flag in Self.flags { self[keyPath: flag] = numbers.popFirst() == 1 }
  }

  /// Adds the sums of one list. In a list that was pulled incrementally, no record is missing because of its absence.
  mutating func add(_ list: ResourceComparison) {
    pages += list.pages
    distinct += list.distinct
    repeats += list.repeats
    passedRepeats += list.passedRepeats
    rejected += list.rejected
    skipped += list.skipped
    if list.isIncremental {
      // Not even these go beside a reject of unknown key.
      if list.rejectedUnknown == 0 { skippedNow += list.missing }
      asked += list.asked
      return
    }
    rejectedUnknown += list.rejectedUnknown
    missing += list.missing
    missingTwice += list.missingTwice
    listChanged = listChanged || list.listChanged
  }
}
