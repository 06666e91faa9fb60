import FoundationEssentials
import Testing

@testable import RosterCore
@testable import RosterSystemd

@Suite struct StatusThrottleTests {
  private let start = Date(timeIntervalSince1970: 1000)

  @Test("49: an early status may be sent after the rest of half a second, in its latest form")
  func burst() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("0", now: start) == .send)
    #expect(throttle.offered("1", now: start + 0.125) == .later(.milliseconds(375)))
    #expect(throttle.offered("9", now: start + 0.5) == .send)
    #expect(throttle.offered("10", now: start + 0.625) == .later(.milliseconds(375)))
  }

  @Test("49: at most three times in any second, half a second apart, a status is sent")
  func rate() {
    var throttle = StatusThrottle()
    var sent: [Date] = []
    for tick in 0..<3000 {
      let now = start + Double(tick) / 100
      if case .send = throttle.offered("\(tick)", now: now) { sent.append(now) }
    }
    #expect(sent.count >= 55)
    #expect(zip(sent, sent.dropFirst()).allSatisfy { $1.timeIntervalSince($0) >= 0.4999 })
  }

  @Test("The same status is not sent twice, also if it changed and changed back")
  func same() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("idle", now: start) == .send)
    #expect(throttle.offered("idle", now: start + 60) == .ignore)
    #expect(throttle.offered("syncing", now: start + 0.125) == .later(.milliseconds(375)))
    #expect(throttle.offered("idle", now: start + 0.5) == .ignore)
  }

  @Test("A clock that is set back does not stop the status")
  func setBack() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("a", now: start) == .send)
    #expect(throttle.offered("b", now: start - 3600) == .send)
  }
}
