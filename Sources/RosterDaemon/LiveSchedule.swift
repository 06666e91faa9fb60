import FoundationEssentials
import RosterModel
import RosterSync
import Synchronization

/// The schedule of a running daemon. A reload changes its settings between two syncs.
final class LiveSchedule: Sendable {
  private struct State {
    var schedule: Schedule
    var damagedAt: Date?
    var last: (outcome: SyncRecord.Outcome, end: SteadyDate, hold: SteadyDate?, random: Double)?
  }

  private let clock: WallClock
  private let state: Mutex<State>

  /// - Parameter damagedAt: The time at which a damaged cache was last moved aside; nil without one.
  init(_ settings: Schedule.Settings, damagedAt: Date? = nil, clock: WallClock) {
    self.clock = clock
    state = Mutex(State(schedule: Schedule(settings, damagedAt: damagedAt), damagedAt: damagedAt))
  }

  /// - Parameter damagedAt: The time at which a damaged cache was last moved aside; nil without one.
  func next(after outcome: SyncRecord.Outcome, damagedAt: Date? = nil, at end: Date, hold: Date?) -> Date {
    let random = Double.random(in: 0..<1)
    let last = (outcome, SteadyDate(end, by: clock), hold.map { SteadyDate($0, by: clock) }, random)
    return state.withLock { state in
      let isCacheLost = damagedAt != nil && damagedAt != state.damagedAt
      (state.last, state.damagedAt) = (last, damagedAt)
      return state.schedule.next(
        after: outcome, isCacheLost: isCacheLost, at: end, hold: hold, random: random)
    }
  }

  /// Returns the start of the next sync under the new settings, by the clock of now; nil if no sync has ended yet.
  func replace(_ settings: Schedule.Settings) -> Date? {
    state.withLock { state in
      state.schedule.settings = settings
      return state.last.map { last in
        state.schedule.due(
          after: last.outcome, at: last.end.date(by: clock), hold: last.hold?.date(by: clock), random: last.random)
      }
    }
  }
}
