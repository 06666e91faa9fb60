package import FoundationEssentials

/// A date that keeps its distance from now if the wall clock is set, as the waits of the daemon do.
package struct SteadyDate: Sendable {
  private let date: Date
  /// The same time by `uptime`.
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
