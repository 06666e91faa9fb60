import FoundationEssentials
import RosterCore
import RosterFetch
import RosterTestSupport
import Synchronization
import Testing

@Suite struct RetryAfterGateTests {
  let clock = ManualClock()

  @Test("25: the latest time counts, and is stored once")
  func latest() async {
    let stored = Mutex<[RetryAfterHold]>([])
    let start = clock.now
    let hold = RetryAfterGate { time in stored.withLock { $0.append(time) } }
    for seconds in [5, 10, 10, 7] { await hold.extend(by: .seconds(seconds), clock.wallClock) }
    #expect(hold.until(clock.wallClock) == start + 10)
    #expect(stored.withLock { $0 } == [5, 10].map { RetryAfterHold(setAt: start, until: start + $0) })
  }

  @Test("25: a wait continues if the time is extended meanwhile")
  func extended() async throws {
    let hold = RetryAfterGate()
    await hold.extend(by: .seconds(10), clock.wallClock)
    async let wait: Void = hold.wait(clock.wallClock, jitter: .zero)
    await clock.sleepers(1)
    await hold.extend(by: .seconds(30), clock.wallClock)
    clock.advance(by: .seconds(10))
    await clock.sleepers(1)
    #expect(clock.pending == [.seconds(20)])
    clock.advance(by: .seconds(20))
    try await wait
  }

  @Test("25: a time that fails no sync is waited for only if it is short; one that fails the sync always is")
  func tooFar() async throws {
    let hold = RetryAfterGate()
    await hold.extend(by: .seconds(10), clock.wallClock, isFailure: false)
    async let short: Void = hold.wait(clock.wallClock, longest: .seconds(10), jitter: .zero)
    await clock.sleepers(1)
    await hold.extend(by: .seconds(30), clock.wallClock, isFailure: false)
    clock.advance(by: .seconds(10))
    var fault: Failure?
    do { try await short } catch { fault = error as? Failure }
    #expect(fault?.trouble == .held && fault?.concerned == [.header("Retry-After")] && fault?.reason == nil)
    await hold.extend(by: .seconds(60), clock.wallClock)
    async let long: Void = hold.wait(clock.wallClock, longest: .seconds(10), jitter: .zero)
    await clock.sleepers(1)
    #expect(clock.pending == [.seconds(60)])
    clock.advance(by: .seconds(60))
    try await long
  }

  @Test("25: requests that waited for the same time do not start at once: each adds its own jitter")
  func jitter() async throws {
    let hold = RetryAfterGate()
    await hold.extend(by: .seconds(10), clock.wallClock)
    async let first: Void = hold.wait(clock.wallClock, jitter: .milliseconds(100))
    async let second: Void = hold.wait(clock.wallClock, jitter: .milliseconds(300))
    await clock.sleepers(2)
    #expect(clock.pending == [.milliseconds(10_100), .milliseconds(10_300)])
    clock.advance(by: .seconds(11))
    _ = try await (first, second)
  }

  @Test("25: no time lasts longer than a day, counted from when it was set", arguments: [86_401, 1_763_769_600])
  func longest(seconds: Int) async {
    let hold = RetryAfterGate()
    await hold.extend(by: .seconds(seconds), clock.wallClock)
    #expect(hold.remaining(clock.wallClock) == .seconds(86400))
    let stored = RetryAfterHold(setAt: clock.now - 3600, until: clock.now + Double(seconds))
    #expect(RetryAfterGate(stored, clock: clock.wallClock).remaining(clock.wallClock) == .seconds(23 * 3600))
  }

  @Test("25: a time that an earlier process stored still counts; one that was set in the future is dropped")
  func stored() {
    let stored = RetryAfterHold(setAt: clock.now - 10, until: clock.now + 50)
    #expect(RetryAfterGate(stored, clock: clock.wallClock).remaining(clock.wallClock) == .seconds(50))
    let ahead = RetryAfterHold(setAt: clock.now + 10, until: clock.now + 50)
    #expect(RetryAfterGate(ahead, clock: clock.wallClock).remaining(clock.wallClock) == nil)
    let past = RetryAfterHold(setAt: clock.now - 50, until: clock.now - 10)
    #expect(RetryAfterGate(past, clock: clock.wallClock).remaining(clock.wallClock) == nil)
  }

  @Test("25: a clock that is set back or forth does not change a wait", arguments: [-31_536_000.0, 31_536_000])
  func steps(step: TimeInterval) async throws {
    let hold = RetryAfterGate()
    await hold.extend(by: .seconds(30), clock.wallClock)
    async let wait: Void = hold.wait(clock.wallClock, jitter: .zero)
    await clock.sleepers(1)
    clock.set(clock.now + step)
    #expect(hold.until(clock.wallClock) == clock.now + 30)
    clock.advance(by: .seconds(30))
    try await wait
  }
}
