import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterDaemon

@Suite(.timeLimit(.minutes(1))) struct StartTimeoutTests {
  @Test("49: a start that makes progress gets more time; one that hangs does not, until it makes progress again")
  func extends() async throws {
    let clock = ManualClock()
    let bytes = Mutex(0)
    let extended = Mutex<[Duration]>([])
    let (ends, end) = AsyncStream<Never>.makeStream()
    let timeout = StartTimeout(
      clock: clock.wallClock, transferred: { bytes.withLock { $0 } },
      extend: { time in extended.withLock { $0.append(time) } })
    func look(after more: Int) async {
      await clock.sleepers(1)
      bytes.withLock { $0 += more }
      clock.advance(by: StartTimeout.look)
      await clock.sleepers(1)
    }
    async let start: Void = timeout.extended { for await _ in ends {} }
    await look(after: 1 << 20)
    #expect(extended.withLock { $0 } == [.seconds(30)])
    await look(after: 0)
    // The transfers of the checks themselves.
    await look(after: 300)
    #expect(extended.withLock { $0.count } == 1)
    await look(after: StartTimeout.minProgress)
    #expect(extended.withLock { $0.count } == 2)
    end.finish()
    try await start
  }

  @Test("49: bytes that this process reads are progress")
  func reads() async throws {
    let timeout = StartTimeout(clock: ManualClock().wallClock, extend: { _ in })
    let before = try #require(timeout.transferred())
    _ = try contents(of: "/proc/self/smaps", limit: 1 << 30)
    #expect(try #require(timeout.transferred()) - before >= StartTimeout.minProgress)
  }
}
