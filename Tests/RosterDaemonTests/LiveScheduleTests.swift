import FoundationEssentials
import RosterCore
import RosterSync
import RosterTestSupport
import Testing

@testable import RosterDaemon

struct LiveScheduleTests {
  private let clock = ManualClock()

  private func settings(interval: Duration) -> Schedule.Settings {
    Schedule.Settings(interval: interval, jitter: .zero, retryInterval: .seconds(1))
  }

  @Test("54: a reload after the wall clock was set counts the interval from the end of the last sync")
  func clockChange() {
    for step in [-86_400.0, 0, 86_400] {
      let schedule = LiveSchedule(settings(interval: .seconds(3600)), clock: clock.wallClock)
      #expect(schedule.replace(settings(interval: .seconds(3600))) == nil)
      #expect(schedule.next(after: .published, at: clock.now, hold: nil) == clock.now + 3600)
      clock.advance(by: .seconds(100))
      clock.set(by: step)
      #expect(schedule.replace(settings(interval: .seconds(600))) == clock.now + 500)
    }
  }

  @Test("43: a cache that is moved aside now is a lost one, also after an earlier one")
  func damaged() {
    for (known, delay) in [(nil, 0.0), (clock.now, 1)] {
      let schedule = LiveSchedule(settings(interval: .seconds(600)), damagedAt: known, clock: clock.wallClock)
      clock.advance(by: .seconds(100))
      let new = clock.now
      #expect(schedule.next(after: .failed, damagedAt: new, at: clock.now, hold: nil) == clock.now + delay)
      #expect(schedule.next(after: .failed, damagedAt: new, at: clock.now, hold: nil) == clock.now + 2)
    }
  }

  @Test("25: a reload after the wall clock was set keeps the end of a rate limit")
  func clockChangeWhileHeld() {
    let schedule = LiveSchedule(settings(interval: .seconds(600)), clock: clock.wallClock)
    _ = schedule.next(after: .failed, at: clock.now, hold: clock.now + 900)
    clock.set(by: 86_400)
    #expect(schedule.replace(settings(interval: .seconds(60))) == clock.now + 900)
  }
}
