package import FoundationEssentials

/// A time before which upstream wants no page request, in the form that survives a restart (P11).
package struct RetryAfterHold: Sendable, Equatable {
  /// Time of upstream's answer.
  package var setAt: Date
  /// End of the pause that upstream asked for.
  package var until: Date

  /// Upper bound for every pause, whatever upstream asked for or the file contains.
  package static let longest = Duration.seconds(86400)

  /// Rounding error, in seconds, of a time that was written to a file and read back.
  private static let precision = 0.001

  /// - Parameter until: the end of the pause. `remaining(at:)` limits it to one day after `setAt`.
  package init(setAt: Date, until: Date) {
    self.setAt = setAt
    self.until = until
  }

  /// The remaining pause; nil if it is over. Also nil if `setAt` is in the future, because then the clock was wrong.
  package func remaining(at now: Date) -> Duration? {
    guard setAt <= now + Self.precision else { return nil }
    let end = min(until, setAt + Self.longest.seconds)
    return end > now ? .seconds(end.timeIntervalSince(now)) : nil
  }
}
