import RosterFetch
import RosterModel
import Synchronization
import Testing

/// A transport whose answers wait until the test gives them.
private final class Wire: Sendable {
  private struct State {
    var sent: [Request] = []
    var cancelled = 0
    var answers: [CheckedContinuation<Response, any Error>?] = []
    var watchers: [(holds: @Sendable (Int, Int) -> Bool, resume: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  var sent: Int { state.withLock { $0.sent.count } }

  func send(_ request: Request) async throws -> Response {
    let index = state.withLock { state in
      state.sent.append(request)
      state.answers.append(nil)
      return state.sent.count - 1
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { answer in
        change { $0.answers[index] = answer }
        if Task.isCancelled { cancel(index) }
      }
    } onCancel: {
      cancel(index)
    }
  }

  /// Returns when so many requests wait for their answer, and so many calls were cancelled.
  func wait(sent: Int, cancelled: Int = 0) async {
    await withCheckedContinuation { resume in
      change { $0.watchers.append(({ $0 >= sent && $1 >= cancelled }, resume)) }
    }
  }

  func answer(_ index: Int, _ result: Result<Response, any Error>) {
    take(index)?.resume(with: result)
  }

  private func cancel(_ index: Int) {
    guard let answer = take(index) else { return }
    change { $0.cancelled += 1 }
    answer.resume(throwing: CancellationError())
  }

  private func take(_ index: Int) -> CheckedContinuation<Response, any Error>? {
    state.withLock { state in
      defer { state.answers[index] = nil }
      return state.answers[index]
    }
  }

  private func change(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      let ready = state.sent.indices.filter { state.answers[$0] != nil }.count + state.cancelled
      let cancelled = state.cancelled
      let due = state.watchers.filter { $0.holds(ready, cancelled) }
      state.watchers.removeAll { $0.holds(ready, cancelled) }
      for watcher in due { watcher.resume.resume() }
    }
  }
}

private let one = Request(.get, "http://upstream/page=1")

/// Starts a request and returns once its task has begun to wait: `Interceptor` runs up to there without suspension.
private func ask(_ send: @escaping Send, _ request: Request = one) -> Task<Response, any Error> {
  Task.immediate { try await send(request) }
}

@Suite struct SharedCallsTests {
  private let wire = Wire()
  private let send: Send

  init() {
    let wire = wire
    send = Interceptor.chain([.shareIdentical()], to: { try await wire.send($0) })
  }

  @Test("two identical page requests in flight share one call, and its answer or failure")
  func shared() async throws {
    let failure = Failure(.unreachable, step: "a", subject: "b", cause: "c", reason: .timeout)
    let results: [Result<Response, any Error>] = [.success(Response(status: 200)), .failure(failure)]
    for (index, result) in results.enumerated() {
      let tasks = [ask(send), ask(send), ask(send)]
      await wire.wait(sent: 1)
      wire.answer(index, result)
      for task in tasks {
        let outcome = await task.result
        #expect((try? outcome.get().status) == (try? result.get().status))
      }
      #expect(wire.sent == index + 1)
    }
  }

  @Test("what differs in anything, or is no GET, is a call of its own; a request after the answer too")
  func distinct() async throws {
    let others = [
      one, Request(.get, "http://upstream/page=2"), Request(.get, one.url, headers: [.init("If-None-Match", "x")]),
      Request(.post, one.url), Request(.post, one.url),
    ]
    let tasks = others.map { ask(send, $0) }
    await wire.wait(sent: 5)
    for index in others.indices { wire.answer(index, .success(Response(status: 200))) }
    for task in tasks { _ = try await task.value }
    let later = ask(send)
    await wire.wait(sent: 1)
    wire.answer(5, .success(Response(status: 304)))
    let status = try await later.value.status
    #expect(status == 304)
  }

  @Test("a waiter that is cancelled leaves at once, and the others get the answer")
  func oneLeaves() async throws {
    let (first, second) = (ask(send), ask(send))
    await wire.wait(sent: 1)
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    wire.answer(0, .success(Response(status: 200)))
    let status = try await first.value.status
    #expect(status == 200)
    #expect(wire.sent == 1)
  }

  @Test("where the one that made the call is cancelled, one of the others makes it, for all that are left")
  func callerLeaves() async throws {
    let (first, others) = (ask(send), [ask(send), ask(send)])
    await wire.wait(sent: 1)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    await wire.wait(sent: 1, cancelled: 1)
    await wire.wait(sent: 2)
    wire.answer(1, .success(Response(status: 200)))
    for other in others {
      let status = try await other.value.status
      #expect(status == 200)
    }
    #expect(wire.sent == 2)
  }

  @Test("the call is cancelled when its last waiter leaves, and the next request begins another")
  func allLeave() async throws {
    let tasks = [ask(send), ask(send)]
    await wire.wait(sent: 1)
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    await wire.wait(sent: 1, cancelled: 1)
    let next = ask(send)
    await wire.wait(sent: 2)
    wire.answer(1, .success(Response(status: 200)))
    let status = try await next.value.status
    #expect(status == 200)
  }

  @Test("a request whose task is cancelled already makes no call that nobody waits for")
  func cancelledBefore() async throws {
    let send = send
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await send(one)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    let next = ask(send)
    await wire.wait(sent: 1)
    next.cancel()
    await #expect(throws: CancellationError.self) { try await next.value }
  }
}
