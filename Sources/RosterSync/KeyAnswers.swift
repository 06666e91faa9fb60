package import RosterCore

/// The answers of `by_key` to the questions for the missing records of one resource, over all its lists.
/// Pure.
package struct KeyAnswers: Sendable, Equatable {
  /// The result of the control question.
  package enum Control: Sendable, Equatable {
    case found
    /// `by_key` does not find a key that it must find.
    case notFound(ControlQuestion)
    /// No key was left to ask for, or `by_key` does not find a key of another list in the snapshot. Upstream may have
    /// removed that record too.
    case unproven
  }

  /// Number of records that cannot be stored.
  package var rejected = 0
  /// Number of keys that `by_key` found.
  package var found = 0
  /// Number of keys that upstream does not have any more, those of records that `where` skips included.
  package var notFound = 0
  /// True if one request asked for several keys.
  package var hasSeveralKeys = false
  /// The result of the control question; nil if it was not asked.
  package var control: Control?
  /// The first failure of a question; nil if each has an answer.
  package var failure: Failure?
  /// The question, or the resource, that the next sync leaves out if its questions ended this one.
  package var pausing: String?
  /// True if no further key is asked for.
  package private(set) var hasEnded = false
  /// Number of failures since the last answer.
  private var failures = 0
  /// True if an answer had keys that only resemble those that were asked for.
  private var hasUnclear = false

  /// After this number of failures in a row, upstream does not seem to support such requests.
  package static let maxFailures = 8

  /// No answers yet.
  package init() {}

  /// True if this sync has seen that `by_key` finds a record that upstream has.
  package var isProven: Bool { found > 0 || control == .found }

  /// True if the control question decides whether the keys that were not found are removed.
  package var needsControl: Bool { !isProven && control == nil && !hasEnded && (notFound > 0 || hasUnclear) }

  /// Notes the answer to a question.
  mutating func answered(found: Int, notFound: Int, rejected: Int) {
    failures = 0
    self.found += found
    self.notFound += notFound
    self.rejected += rejected
  }

  /// Notes that a question has no answer. The questions end after many failures in a row.
  mutating func failed(_ failure: Failure) {
    self.failure = self.failure ?? failure
    failures += 1
    if failures == Self.maxFailures { hasEnded = true }
  }

  /// Notes an answer that does not say whether upstream has the keys.
  mutating func unclear(_ failure: Failure) {
    self.failure = self.failure ?? failure
    failures = 0
    hasUnclear = true
  }

  /// Ends the questions.
  mutating func end(_ failure: Failure) {
    self.failure = failure
    hasEnded = true
  }
}

/// A question of `by_key` for keys that it must find.
package struct ControlQuestion: Sendable, Equatable {
  /// The keys, as texts.
  package var keys: [String]
  /// The request that was sent.
  package var request: Request
}
