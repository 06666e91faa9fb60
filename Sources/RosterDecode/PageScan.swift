package import RosterCore

/// The result of one pass over a body. It suffices to plan the next page, to compare the pull with the cache, and to
/// find the records again.
package struct PageScan: Sendable, Equatable {
  /// Number of elements of the list: storable, rejected and skipped records together, at most 100,000.
  package var records = 0
  /// Number of records that cannot be stored.
  package var rejects = 0
  /// Number of rejected records without a known key. One of them is enough to suspend all removals of the resource.
  package var rejectsOfUnknownKey = 0
  /// Number of records that `where` excludes.
  package var skipped = 0
  /// Keys of the storable records in the order of the body. A duplicate key is listed as often as it occurs.
  package var keys = KeyList()
  /// Keys of the rejected records that have one.
  package var rejectedKeys = KeyList()
  /// Keys of the skipped records that have one.
  package var skippedKeys = KeyList()
  /// The highest value at `since.at`; nil if no record has one.
  package var highest: Mark?
  /// True if the answer lacks records that upstream has, so that it must be asked for again.
  package private(set) var isLacking = false
  /// True if a record has no readable value at `since.at`, and not null either.
  package var hasOtherMark = false
  /// The form of a time at `since.at` that has another form than `since.form`; nil if all times fit.
  package var otherForm: TimeForm?
  /// Kinds of the records with a key, in the order of the body. Only pages of changes have them.
  package var kinds: [RecordKind] = []
  /// Values at `since.at` of the same records. `noMark` for a record without a value; empty without `since.at`.
  package var marks: [Int64] = []
  /// Lower than any value at `since.at`.
  package static let noMark = Int64.min
  /// Offset of the list, or of the single record, for `RecordDecoder.begin(_:at:)`.
  package var recordsAt = 0
  /// True if the records are a list or a map, and not one record.
  package var isList = false
  /// Places of `expect` that may be wrong: their conditions hold, and the answer has nothing there.
  package var unseen: [JSONPointer] = []
  /// True if the answer has no list of records, which means no records (`no_records`).
  package var lacksList = false
  /// Offset after the list of a page; 0 if the page is one record.
  package var recordsEnd = 0

  /// The value at `pages.count`. Without such a place it is the highest total that a member of the answer names.
  package var count = PointedValue()
  /// True if the answer calls its total a lower bound: the list may have more records.
  package var isTotalLowerBound = false
  /// The value at the style's `last`.
  package var last = PointedValue()
  /// True if a member that no key names says that the list goes on after this page (`takesUnnamedMore`).
  package var goesOn = false
  /// The highest number of pages that a member says, under the same condition.
  package var numberOfPages: Int64 = 0
  /// Where `pages.more` or `pages.done` says.
  package var more = PointedValue()
  /// The value at the style's `at`: in the answer for `cursor` and `next`, in the last record for `after`.
  package var at = PointedValue()
  /// The value at `since.token`.
  package var token = PointedValue()

  /// Makes the result of a body in which nothing was found yet.
  package init() {}

  /// Notes that the answer lacks records, as a rejected record of unknown key, which suspends all removals.
  /// - Parameter isAccepted: True if `partial` of the definition accepts such answers.
  package mutating func noteLack(isAccepted: Bool = false) {
    rejects += 1
    rejectsOfUnknownKey += 1
    isLacking = isLacking || !isAccepted
  }

  /// True if the text of a Warning header says that the answer is partial (RFC 9111 §5.5). Most warnings speak about
  /// other things, such as the age of a response or of an API.
  package static func isPartial(_ warning: String) -> Bool { AnswerSign.isPartial(warning) }

  /// Number of storable records. A duplicate key counts each time that it occurs.
  package var storable: Int { keys.count }
}

/// Kind of a record on a page.
package enum RecordKind: UInt8, Sendable, CaseIterable {
  case storable, rejected, skipped
}

/// The value that was found at a place of an answer.
package struct PointedValue: Sendable, Equatable {
  /// Absent and null differ: an answer without a declared member is malformed, and null is a value.
  package enum Kind: Sendable, Equatable {
    case absent
    case null
    case boolean(Bool)
    /// A number without fraction and exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number, in upstream's spelling.
    case number(String)
    case text(String)
    /// A list or an object.
    case compound
    /// The members of an object, if the definition sends them as parameters. Each is a scalar and occurs once. Null
    /// members are left out.
    case members([JSONValue.Member])
    /// A list or an object, if the definition sends it in a body.
    case whole(JSONValue)
  }

  /// Kind and content of the value.
  package var kind: Kind
  /// Offset of the value in the body, for error messages; 0 if the value is absent.
  package var offset: Int

  /// Makes the value that begins at this offset of the body.
  package init(_ kind: Kind = .absent, offset: Int = 0) {
    self.kind = kind
    self.offset = offset
  }
}
