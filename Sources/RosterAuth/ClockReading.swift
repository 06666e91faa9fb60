import FoundationEssentials
import RosterModel

/// A time by both clocks: what upstream announces is told by the one on the wall, what has passed by the other.
struct ClockReading: Sendable, Equatable {
  var date: Date
  /// Grows evenly, whatever the wall clock is set to; its zero means nothing.
  var uptime: Duration
}

extension WallClock {
  var moment: ClockReading { ClockReading(date: now(), uptime: uptime()) }
}
