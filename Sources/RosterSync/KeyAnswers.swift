package import RosterModel

/// The answers of `by_key` to the questions for the missing records of one resource (P8, P16). Pure.
package struct KeyAnswers: Sendable, Equatable {
  /// Number of records that cannot be stored.
  package var rejected = 0
  /// Number of keys that `by_key` found.
  package var found = 0
  /// Number of keys that upstream does not have any more, those of records that `where` skips included.
  package var notFound = 0
  /// True if one request asked for several keys.
  package var hasSeveralKeys = false
  /// True if no key of the list was seen, so that the control question needs a key of another list.
  package var lacksSeenKey = false
  /// The control question if it found nothing; nil if it found a record or was not asked.
  package var failedControl: ControlQuestion?
  /// The first failure that concerns a single question; nil if all questions were answered.
  package var failure: Failure?

  /// True if nothing shows that `by_key` works, and records are about to be removed because of it (P16).
  package var needsControl: Bool { found == 0 && notFound > 0 }

  /// True if no question was answered.
  var isUnanswered: Bool { failure != nil && found == 0 && notFound == 0 }

  /// The answers. Throws if a question has no answer.
  func complete() throws(Failure) -> KeyAnswers {
    if let failure { throw failure }
    return self
  }
}

/// A question of `by_key` for keys that a page of the same pull has (P16).
package struct ControlQuestion: Sendable, Equatable {
  /// The keys, as texts.
  package var keys: [String]
  /// The request that was sent.
  package var request: Request
}
