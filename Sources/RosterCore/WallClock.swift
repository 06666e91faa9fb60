package import FoundationEssentials

/// The wall clock, a clock that cannot be set, and a way to wait. They are injected, so that tests can drive a manual
/// clock.
package struct WallClock: Sendable {
  /// The time that people and other machines use. It may be set, also back, so no wait and no duration is measured by
  /// it.
  package var now: @Sendable () -> Date
  /// Waits, measured by `uptime`. Throws CancellationError.
  package var sleep: @Sendable (Duration) async throws -> Void
  /// A clock for waits and durations. It runs evenly, also during a suspend, whatever the wall clock is set to. Its
  /// zero has no meaning.
  package var uptime: @Sendable () -> Duration

  /// - Parameter uptime: nil to derive it from `now`, which then must never be set back. The result has milliseconds,
  ///   since a Date is too coarse for less.
  package init(
    now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
    uptime: (@Sendable () -> Duration)? = nil
  ) {
    self.now = now
    self.sleep = sleep
    self.uptime = uptime ?? { .milliseconds((now().timeIntervalSince1970 * 1000).rounded()) }
  }

  /// The machine's own clocks.
  package static let system: WallClock = {
    let start = ContinuousClock.now
    return WallClock(
      now: { Date() }, sleep: { try await Task.sleep(for: $0) }, uptime: { start.duration(to: .now) })
  }()
}

extension Date {
  /// The time in UTC as RFC 3339 with milliseconds and `Z`: the only form in which rosterd shows or stores times.
  package var rfc3339: String { (self + Self.halfMillisecond).formatted(Self.rfc3339Style) }

  /// Reads a text that `rfc3339` wrote.
  package init?(rfc3339 text: String) {
    guard let date = try? Self.rfc3339Style.parse(text) else { return nil }
    self = date
  }

  /// Added before the style truncates: as a double, a time that was read from text may be slightly below that text.
  private static let halfMillisecond = 0.0005
  private static let rfc3339Style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
}

extension Duration {
  /// The duration in seconds, with fractions.
  package var seconds: Double {
    let (whole, atto) = components
    return Double(whole) + Double(atto) * 1e-18
  }
}

/// A date that keeps its distance from now if the wall clock is set, as the waits of the daemon do.
package struct SteadyDate: Sendable {
  private let date: Date
  /// The date as a reading of `uptime`.
  private let uptime: Duration

  /// Takes a date by the clock of now.
  package init(_ date: Date, by clock: WallClock) {
    self.date = date
    uptime = clock.uptime() + .seconds(date.timeIntervalSince(clock.now()))
  }

  /// The date by the clock of now. It moves in whole seconds, so that small corrections of the wall clock do not change
  /// it with each look.
  package func date(by clock: WallClock) -> Date {
    let moved = clock.now().timeIntervalSince(date) + (uptime - clock.uptime()).seconds
    return date + moved.rounded()
  }
}
