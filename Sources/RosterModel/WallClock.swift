package import FoundationEssentials

/// The time of day, a time that nobody sets, and a way to wait, injected: tests drive a manual one.
package struct WallClock: Sendable {
  /// What people and other machines go by. Somebody may set it, back too: no wait and no duration is counted by it.
  package var now: @Sendable () -> Date
  /// By `uptime`. Throws CancellationError.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// For waits and durations: grows evenly, also while the machine is suspended, whatever the clock is set to. Its zero
  /// means nothing.
  package var uptime: @Sendable () -> Duration

  /// - Parameter uptime: nil: `now` is never set back, and counts, in milliseconds: a Date is too coarse for less.
  package init(
    now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
    uptime: (@Sendable () -> Duration)? = nil
  ) {
    self.now = now
    self.sleep = sleep
    self.uptime = uptime ?? { .milliseconds((now().timeIntervalSince1970 * 1000).rounded()) }
  }

  /// The machine's own.
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
