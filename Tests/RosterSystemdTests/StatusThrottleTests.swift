import FoundationEssentials
import Testing

@testable import RosterSystemd

@Suite struct StatusThrottleTests {
  private let start = Date(timeIntervalSince1970: 1000)

  @Test("S4: a burst becomes its first and, half a second later, its last status")
  func burst() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("0", now: start) == .send("0"))
    #expect(throttle.offered("1", now: start + 0.125) == .later(.milliseconds(375)))
    for step in 2...9 { #expect(throttle.offered("\(step)", now: start + 0.125 + Double(step) / 32) == .ignore) }
    #expect(throttle.due(now: start + 0.5) == .send("9"))
    #expect(throttle.due(now: start + 0.5) == .ignore)
    #expect(throttle.offered("10", now: start + 0.625) == .later(.milliseconds(375)))
  }

  @Test("S4: over any second at most three instants half a second apart send")
  func rate() {
    var throttle = StatusThrottle()
    var sent: [Date] = []
    var due: Date?
    for tick in 0..<3000 {
      let now = start + Double(tick) / 100
      if let at = due, at <= now {
        due = nil
        if case .send = throttle.due(now: now) { sent.append(now) }
      }
      switch throttle.offered("\(tick)", now: now) {
      case .send: sent.append(now)
      case .later(let delay): due = now + delay / .seconds(1)
      case .ignore: break
      }
    }
    #expect(sent.count >= 55)
    #expect(zip(sent, sent.dropFirst()).allSatisfy { $1.timeIntervalSince($0) >= 0.4999 })
  }

  @Test("S4: the status with READY counts, also where an earlier timer is under way")
  func ready() {
    var throttle = StatusThrottle()
    _ = throttle.offered("0", now: start)
    #expect(throttle.offered("1", now: start + 0.25) == .later(.milliseconds(250)))
    let answers = [0.375, 0.5, 5].map { throttle.goesAlong("ready", now: start + $0) }
    #expect(answers == [false, true, false])
    #expect(throttle.due(now: start + 0.5) == .later(.milliseconds(500)))
    #expect(throttle.due(now: start + 1) == .send("1"))
  }

  @Test("The same status is not sent twice, also where it changed there and back")
  func same() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("idle", now: start) == .send("idle"))
    #expect(throttle.offered("idle", now: start + 60) == .ignore)
    #expect(throttle.offered("syncing", now: start + 0.125) == .later(.milliseconds(375)))
    #expect(throttle.offered("idle", now: start + 0.2) == .ignore)
    #expect(throttle.due(now: start + 0.5) == .ignore)
  }

  @Test("A clock that is set back does not silence it")
  func setBack() {
    var throttle = StatusThrottle()
    #expect(throttle.offered("a", now: start) == .send("a"))
    #expect(throttle.offered("b", now: start - 3600) == .send("b"))
  }
}
