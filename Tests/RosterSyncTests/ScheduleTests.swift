import FoundationEssentials
import RosterCore
import RosterSync
import Testing

@Suite struct ScheduleTests {
  private let end = Date(timeIntervalSince1970: 1000)
  private var schedule = Schedule(.init(interval: .seconds(900), jitter: .seconds(30), retryInterval: .seconds(60)))

  private mutating func delay(_ outcome: SyncRecord.Outcome, hold: Date? = nil, random: Double = 0) -> Double {
    schedule.next(after: outcome, at: end, hold: hold, random: random).timeIntervalSince(end)
  }

  @Test("The next sync starts an interval and up to the jitter after the end of the last")
  mutating func interval() {
    #expect(delay(.published) == 900)
    #expect(delay(.unchanged, random: 0.5) == 915)
  }

  @Test("After failed syncs the retry interval doubles up to the interval, and starts over after a good one")
  mutating func backoff() {
    var delays: [Double] = []
    for _ in 1...6 { delays.append(delay(.failed, random: 0.9)) }
    #expect(delays == [60, 120, 240, 480, 900, 900])
    #expect(delay(.unchanged) == 900)
    #expect(delay(.failed) == 60)
  }

  @Test("A retry interval above the interval is used unchanged")
  mutating func longRetry() {
    schedule.settings.interval = .seconds(10)
    #expect(delay(.failed) == 60)
    #expect(delay(.failed) == 60)
  }

  @Test("25: the next sync waits for the time before which upstream wants no request")
  mutating func hold() {
    #expect(delay(.failed, hold: end + 3600) == 3600)
    #expect(delay(.failed, hold: end + 1) == 120)
  }

  @Test("43: after the first lost cache the next sync starts at once, and after another within a day it waits")
  mutating func lostCache() {
    func delay(_ outcome: SyncRecord.Outcome, after seconds: Double, hold: Date? = nil) -> Double {
      let time = end + seconds
      return schedule.next(after: outcome, isCacheLost: true, at: time, hold: hold, random: 0)
        .timeIntervalSince(time)
    }
    #expect(delay(.failed, after: 0) == 0)
    #expect(delay(.failed, after: 60) == 120)
    #expect(delay(.failed, after: 86_461) == 0)
    // A sync that publishes leaves no empty tables.
    #expect(delay(.published, after: 300_000) == 900)
    #expect(delay(.failed, after: 300_060) == 60)
    #expect(delay(.failed, after: 400_000, hold: end + 400_100) == 100)
    // An earlier process has met damage.
    schedule = Schedule(schedule.settings, damagedAt: end - 3600)
    #expect(delay(.failed, after: 0) == 60)
  }

  @Test("Thousands of failures do not overflow the delay")
  mutating func manyFailures() {
    for _ in 1...5000 { _ = delay(.failed) }
    #expect(delay(.failed) == 900)
  }
}
