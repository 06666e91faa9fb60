import FoundationEssentials
import RosterFetch
import RosterTestSupport
import Synchronization
import Testing

@Suite struct HoldTests {
  @Test("P11: the latest time holds, and is stored once")
  func latest() async {
    let stored = Mutex<[Date]>([])
    let start = Date(timeIntervalSince1970: 1_700_000_000)
    let hold = Hold(until: start) { time in stored.withLock { $0.append(time) } }
    await hold.extend(to: start - 1)
    await hold.extend(to: start + 10)
    await hold.extend(to: start + 10)
    await hold.extend(to: start + 5)
    #expect(hold.time == start + 10)
    #expect(stored.withLock { $0 } == [start + 10])
  }

  @Test("P11: a wait that is extended meanwhile goes on")
  func extended() async throws {
    let clock = ManualClock()
    let hold = Hold(until: clock.now + 10)
    async let wait: Void = hold.wait(clock.wallClock)
    await clock.sleepers(1)
    await hold.extend(to: clock.now + 30)
    clock.advance(by: .seconds(10))
    await clock.sleepers(1)
    #expect(clock.pending == [.seconds(20)])
    clock.advance(by: .seconds(20))
    try await wait
  }
}
