package import FoundationEssentials
internal import RosterModel

/// Times in which no request was allowed: `limit.budget` was used up, or upstream had sent a Retry-After. The age at
/// which a kept page or list is used again does not include them (E8.1).
package struct RequestPauses: Sendable, Equatable {
  /// The pauses in the order of time.
  private var all: [Range<Date>] = []
  /// Addresses of the questions of `by_key` whose answers ended a sync with a pause (E7.8).
  package private(set) var questions: Set<String> = []

  /// No pause.
  package init() {}

  /// Adds a pause. Only its part after the earlier ones counts. Returns false if neither that part nor the question is
  /// new.
  /// - Parameter question: address of the question of `by_key` that brought the pause; nil if another answer did.
  @discardableResult
  package mutating func add(from start: Date, until end: Date, by question: String? = nil) -> Bool {
    let isNew = question.map { questions.insert($0).inserted } ?? false
    let start = max(start, all.last?.upperBound ?? start)
    guard start < end else { return isNew }
    all.append(start..<end)
    return true
  }

  /// True if no request was allowed for a time after this one.
  package func hasPause(after date: Date) -> Bool { all.last.map { date < $0.upperBound } ?? false }

  /// The time at which a page was received that reaches this age now. The pauses do not count.
  package func earliest(age: Duration, at now: Date) -> Date {
    var (left, end) = (age.seconds, now)
    for pause in all.reversed() {
      let allowed = end.timeIntervalSince(min(pause.upperBound, end))
      if left <= allowed { break }
      left -= allowed
      end = min(end, pause.lowerBound)
    }
    return end.addingTimeInterval(-left)
  }
}
