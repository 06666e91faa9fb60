import FoundationEssentials
import Testing

@testable import RosterSystemd

@Suite struct StatusThrottleTests {
  private let start = Date(timeIntervalSince1970: 1000)

  @Test("S4: a status that comes too early may come again after the rest of half a second, as it is then")
  func burst() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("0", now: start) == .send)
    #expect(throttle.offered("1", now: start + 0.125) == .later(.milliseconds(375)))
    #expect(throttle.offered("9", now: start + 0.5) == .send)
    #expect(throttle.offered("10", now: start + 0.625) == .later(.milliseconds(375)))
  }

  @Test("S4: over any second at most three instants half a second apart send")
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

  @Test("The same status is not sent twice, also where it changed there and back")
  func same() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("idle", now: start) == .send)
    #expect(throttle.offered("idle", now: start + 60) == .ignore)
    #expect(throttle.offered("syncing", now: start + 0.125) == .later(.milliseconds(375)))
    #expect(throttle.offered("idle", now: start + 0.5) == .ignore)
  }

  @Test("A clock that is set back does not silence it")
  func setBack() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("a", now: start) == .send)
    #expect(throttle.offered("b", now: start - 3600) == .send)
  }
}
