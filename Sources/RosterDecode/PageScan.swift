package import RosterModel

/// What one pass over a body finds: enough to plan the next page, to compare the pull with the cache, and to come back
/// for the records.
package struct PageScan: Sendable, Equatable {
  /// Elements of the list: storable, rejected and skipped ones together; at most 100,000.
  package var records = 0
  /// Records that cannot be stored (P9).
  package var rejects = 0
  /// Those of them whose key is not known: with one of them nothing of the resource is removed (P9).
  package var rejectsOfUnknownKey = 0
  /// Records that `where` passes over.
  package var skipped = 0
  /// Keys of the storable records, in their order, a key that is met twice twice.
  package var keys = KeyList()
  /// Keys of the records that are rejected and have one.
  package var rejectedKeys = KeyList()
  /// Keys of the records that are skipped and have one.
  package var skippedKeys = KeyList()
  /// The byte at which the list, or the one record, begins: for `RecordDecoder.begin(_:at:)`.
  package var recordsAt = 0

  /// What stands where `pages.count` says; absent where it says nothing.
  package var count = PointedValue()
  /// Where the style's `last` says.
  package var last = PointedValue()
  /// Where `pages.more` or `pages.done` says.
  package var more = PointedValue()
  /// Where the style's `at` says: in the answer for `cursor` and `next`, in the last record for `after`.
  package var at = PointedValue()

  /// Nothing is found yet.
  package init() {}

  /// Records that can be stored, those with a key that is met twice twice.
  package var storable: Int { keys.count }
}

/// What stands at a place of an answer.
package struct PointedValue: Sendable, Equatable {
  /// Absent and null are told apart: one is no answer, the other one is.
  package enum Kind: Sendable, Equatable {
    case absent
    case null
    case boolean(Bool)
    /// Without fraction and exponent, and within 64 bits.
    case integer(Int64)
    /// Any other number, as it was written.
    case number(String)
    case text(String)
    /// A list or an object.
    case compound
    /// The members of an object, if the definition sends them as parameters. Each is a scalar and occurs once. Null
    /// members are left out.
    case members([JSONValue.Member])
  }

  /// What it is.
  package var kind: Kind
  /// Bytes from the start of the body, for whoever finds it malformed; 0 where it is absent.
  package var offset: Int

  /// A value at a byte of the body.
  package init(_ kind: Kind = .absent, offset: Int = 0) {
    self.kind = kind
    self.offset = offset
  }
}
