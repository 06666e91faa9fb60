import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterFetch

@Suite("27: waiting for limit.rate", .timeLimit(.minutes(1))) final class RequestPacerTests: Sendable {
  private let clock = ManualClock()
  private let turns = Mutex<[String]>([])

  private var had: [String] { turns.withLock { $0 } }

  /// A pacer with a rate of one request per second, which has just been used.
  private func used() async throws -> RequestPacer {
    let pacer = RequestPacer(rate: 1, clock: clock.wallClock)
    try await pacer.turn()
    return pacer
  }

  private func wait(_ name: String, ahead: Bool = false, for pacer: RequestPacer) async throws {
    try await pacer.turn(ahead: ahead)
    turns.withLock { $0.append(name) }
  }

  /// Starts the requests one after the other, each as soon as the previous one waits.
  private func queue(
    _ names: [String], for pacer: RequestPacer, in group: inout ThrowingTaskGroup<Void, any Error>
  ) async {
    for name in names {
      let waiting = pacer.waiting
      group.addTask { try await self.wait(name, ahead: name == "token", for: pacer) }
      while pacer.waiting == waiting { await Task.yield() }
    }
  }

  @Test("27: requests take turns in the order of their arrival, and a token request goes first")
  func order() async throws {
    let pacer = try await used()
    try await withThrowingTaskGroup(of: Void.self) { group in
      await queue(["a", "b", "token", "c"], for: pacer, in: &group)
      for turn in 1...4 {
        await clock.sleepers(1)
        #expect(clock.pending == [.seconds(1)])
        clock.advance(by: .seconds(1))
        while had.count < turn { await Task.yield() }
      }
      try await group.waitForAll()
    }
    #expect(had == ["token", "a", "b", "c"])
  }

  @Test("A cancelled request costs no other request a turn")
  func cancelled() async throws {
    let pacer = try await used()
    let gone = Task { try await wait("gone", for: pacer) }
    await clock.sleepers(1)
    gone.cancel()
    await #expect(throws: CancellationError.self) { try await gone.value }
    async let next: Void = wait("next", for: pacer)
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    try await next
    #expect(had == ["next"])
  }

  @Test("A reload changes the rate at once, for waiting requests too", arguments: [0, 100.0])
  func changed(rate: Double) async throws {
    let pacer = RequestPacer(rate: 0.001, clock: clock.wallClock)
    try await pacer.turn()
    async let first: Void = wait("first", for: pacer)
    await clock.sleepers(1)
    #expect(clock.pending == [.seconds(1000)])
    pacer.change(rate: rate)
    try await first
    #expect(had == ["first"])
  }

  @Test("27: after a reload with a slower rate, the next request keeps its distance from the last one")
  func slower() async throws {
    let pacer = try await used()
    clock.advance(by: .milliseconds(400))
    pacer.change(rate: 0.1)
    async let next: Void = wait("next", for: pacer)
    await clock.sleepers(1)
    #expect(clock.pending == [.milliseconds(9600)])
    clock.advance(by: .milliseconds(9600))
    try await next
  }

  @Test("A reload with the same rate is no new burst")
  func unchanged() async throws {
    let pacer = try await used()
    pacer.change(rate: 1)
    async let next: Void = wait("next", for: pacer)
    await clock.sleepers(1)
    #expect(had.isEmpty)
    clock.advance(by: .seconds(1))
    try await next
  }

  @Test("41: a stop ends every wait at once, and nothing starts after it")
  func stop() async throws {
    let pacer = try await used()
    let first = Task { try await wait("first", for: pacer) }
    await clock.sleepers(1)
    pacer.stop()
    await #expect(throws: CancellationError.self) { try await first.value }
    await #expect(throws: CancellationError.self) { try await pacer.turn() }
    #expect(clock.pending.isEmpty)
  }
}
