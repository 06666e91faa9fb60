import FoundationEssentials
import RosterModel
import RosterSync
import Synchronization

/// The schedule of a running daemon. A reload changes its settings between two syncs.
final class LiveSchedule: Sendable {
  private struct State {
    var schedule: Schedule
    var last: (outcome: SyncRecord.Outcome, end: Date, hold: Date?, random: Double)?
  }

  private let state: Mutex<State>

  init(_ schedule: Schedule) {
    state = Mutex(State(schedule: schedule))
  }

  func next(after outcome: SyncRecord.Outcome, at end: Date, hold: Date?) -> Date {
    let random = Double.random(in: 0..<1)
    return state.withLock { state in
      state.last = (outcome, end, hold, random)
      return state.schedule.next(after: outcome, at: end, hold: hold, random: random)
    }
  }

  /// Returns the start of the next sync under the new settings; nil if no sync has ended yet.
  func replace(_ settings: Schedule.Settings) -> Date? {
    state.withLock { state in
      state.schedule.settings = settings
      return state.last.map { state.schedule.due(after: $0.outcome, at: $0.end, hold: $0.hold, random: $0.random) }
    }
  }
}
