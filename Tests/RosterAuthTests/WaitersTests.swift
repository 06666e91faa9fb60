import RosterCore
import Testing

@testable import RosterAuth

@Suite(.timeLimit(.minutes(1)))
struct WaitersTests {
  @Test("A value that arrives before the wait begins is not lost, and is delivered once")
  func early() async throws {
    let waiters = Waiters<Int>()
    let id = waiters.open()
    waiters.settle(id, result: .success(1))
    waiters.settle(id, result: .success(2))
    #expect(try await waiters.value(id) == 1)
  }

  @Test("A cancelled waiter ends at once, and a value that arrives later is dropped")
  func cancelled() async {
    let waiters = Waiters<Int>()
    let id = waiters.open()
    let waiter = Task { try await waiters.value(id) }
    waiter.cancel()
    await #expect(throws: CancellationError.self) { try await waiter.value }
    waiters.settle(id, result: .success(1))
  }
}
