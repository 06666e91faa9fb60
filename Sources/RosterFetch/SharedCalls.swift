import RosterModel
import Synchronization

extension Interceptor {
  /// Identical GET requests in flight share one call: the first makes it, the others wait for its answer.
  ///
  /// The outermost link: in front of the token, so that those who wait for a refresh are shared too, and inside the retry, because
  /// an attempt is what is in flight; who shares a failed one counts it as his own.
  package static func shareIdentical() -> Interceptor {
    let calls = SharedCalls()
    return Interceptor { request, next in
      guard request.method == .get else { return try await next(request) }
      return try await calls.answer(request, next)
    }
  }
}

private final class SharedCalls: Sendable {
  /// nil: who made the call was cancelled, one of the others makes it.
  private typealias Shared = Result<Response, any Error>?
  private typealias Waiter = CheckedContinuation<Shared, any Error>

  private struct State {
    /// Of each call in flight, who waits for it.
    var calls: [Request: [Int: Waiter]] = [:]
    var lastWaiter = 0
  }

  private let state = Mutex(State())

  func answer(_ request: Request, _ next: Send) async throws -> Response {
    while true {
      if begin(request) { return try await call(request, next) }
      if let shared = try await wait(for: request) { return try shared.get() }
    }
  }

  private func begin(_ request: Request) -> Bool {
    state.withLock { state in
      if state.calls[request] != nil { return false }
      state.calls[request] = [:]
      return true
    }
  }

  private func call(_ request: Request, _ next: Send) async throws -> Response {
    do {
      let response = try await next(request)
      end(request, .success(response))
      return response
    } catch {
      end(request, error is CancellationError ? nil : .failure(error))
      throw error
    }
  }

  private func end(_ request: Request, _ shared: Shared) {
    let waiters = state.withLock { $0.calls.removeValue(forKey: request) } ?? [:]
    for waiter in waiters.values { waiter.resume(returning: shared) }
  }

  private func wait(for request: Request) async throws -> Shared {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        let isInFlight = state.withLock { state in
          guard state.calls[request] != nil else { return false }
          state.calls[request]?[number] = waiter
          return true
        }
        guard isInFlight else { return waiter.resume(returning: nil) }
        // A cancellation before that line found nobody to send away.
        if Task.isCancelled { leave(request, number) }
      }
    } onCancel: {
      leave(request, number)
    }
  }

  private func leave(_ request: Request, _ number: Int) {
    let waiter = state.withLock { $0.calls[request]?.removeValue(forKey: number) }
    waiter?.resume(throwing: CancellationError())
  }
}
