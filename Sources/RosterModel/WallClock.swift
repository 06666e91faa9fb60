package import FoundationEssentials

/// The time of day and a way to wait, injected: tests drive a manual one.
package struct WallClock: Sendable {
  /// The time of day; it may jump where somebody sets the clock.
  package var now: @Sendable () -> Date
  /// Throws CancellationError.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// For durations: grows evenly, also while the machine is suspended, whatever the clock is set to. Its zero means
  /// nothing.
  package var uptime: @Sendable () -> Duration

  /// A clock that is driven by these; without `uptime`, one that nobody sets.
  package init(
    now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
    uptime: (@Sendable () -> Duration)? = nil
  ) {
    self.now = now
    self.sleep = sleep
    self.uptime = uptime ?? { .seconds(now().timeIntervalSince1970) }
  }

  /// The real one.
  package static let system: WallClock = {
    let start = ContinuousClock.now
    return WallClock(
      now: { Date() }, sleep: { try await Task.sleep(for: $0) }, uptime: { start.duration(to: .now) })
  }()
}

extension Date {
  /// UTC, RFC 3339, milliseconds, `Z`: the one form of time that rosterd shows or stores.
  package var rfc3339: String { (self + Self.halfMillisecond).formatted(Self.rfc3339Style) }

  /// Reads what `rfc3339` wrote.
  package init?(rfc3339 text: String) {
    guard let date = try? Self.rfc3339Style.parse(text) else { return nil }
    self = date
  }

  /// The style cuts off; a time that was read from text is a little less than the text said, as doubles are.
  private static let halfMillisecond = 0.0005
  private static let rfc3339Style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
}

extension Duration {
  /// In seconds, with fractions.
  package var seconds: Double {
    let (whole, atto) = components
    return Double(whole) + Double(atto) * 1e-18
  }
}
