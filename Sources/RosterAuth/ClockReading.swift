import FoundationEssentials
import RosterModel

/// A time by two clocks. The wall clock serves times that upstream announces; uptime measures intervals.
struct ClockReading: Sendable, Equatable {
  var date: Date
  /// Grows evenly and is independent of the wall clock; its zero means nothing.
  var uptime: Duration
}

extension WallClock {
  var moment: ClockReading { ClockReading(date: now(), uptime: uptime()) }
}
