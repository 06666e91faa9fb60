package import FoundationEssentials

/// A time before which upstream wants no page request, as it is kept over restarts (P11).
package struct RetryAfterHold: Sendable, Equatable {
  /// When upstream asked for it.
  package var setAt: Date
  /// As upstream asked.
  package var until: Date

  /// No hold is longer, whatever upstream says and whatever was stored.
  package static let longest = Duration.seconds(86400)

  /// Seconds: what a time may gain on its way to a file and back, as doubles do.
  private static let precision = 0.001

  /// - Parameter until: cut to a day from `setAt` where it is used.
  package init(setAt: Date, until: Date) {
    self.setAt = setAt
    self.until = until
  }

  /// How long it still lasts; nil: it is over, or was set by a clock that was wrong, since `setAt` is yet to come.
  package func remaining(at now: Date) -> Duration? {
    guard setAt <= now + Self.precision else { return nil }
    let end = min(until, setAt + Self.longest.seconds)
    return end > now ? .seconds(end.timeIntervalSince(now)) : nil
  }
}
