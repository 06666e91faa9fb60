/// What was pulled, held against the snapshot: what P7, P8 and P9 decide by.
package struct Comparison: Sendable, Equatable {
  /// Pages 1…N are all there.
  package var isComplete: Bool
  /// Ids on the pages that were pulled or kept, each counted once.
  package var distinct: Int
  /// Records that cannot be stored.
  package var rejected: Int
  /// Of these, records that do not say whose they are.
  package var rejectedUnknown: Int
  /// Characters of the snapshot that are neither pulled nor rejected.
  package var missing: Int
  /// Characters of the snapshot.
  package var snapshot: Int

  package init(
    isComplete: Bool = true, distinct: Int, rejected: Int = 0, rejectedUnknown: Int = 0, missing: Int = 0,
    snapshot: Int = 0
  ) {
    self.isComplete = isComplete
    self.distinct = distinct
    self.rejected = rejected
    self.rejectedUnknown = rejectedUnknown
    self.missing = missing
    self.snapshot = snapshot
  }
}

/// What a publish does with characters that upstream no longer lists.
package enum Removal: Sendable, Equatable {
  case nobody
  case missing
}
