import RosterModel
import Synchronization

extension Interceptor {
  /// Identical GET requests in flight share one call, which lives as long as somebody waits for it.
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
  private typealias Waiter = CheckedContinuation<Response, any Error>

  private struct Call {
    var number: Int
    var task: Task<Void, Never>
    var waiters: [Int: Waiter]
  }

  private struct State {
    var calls: [Request: Call] = [:]
    var lastNumber = 0

    mutating func number() -> Int {
      lastNumber += 1
      return lastNumber
    }
  }

  private let state = Mutex(State())

  func answer(_ request: Request, _ next: @escaping Send) async throws -> Response {
    let number = state.withLock { $0.number() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        join(request, number, waiter, next)
        // A cancellation before that line found nobody to send away.
        if Task.isCancelled { leave(request, number) }
      }
    } onCancel: {
      leave(request, number)
    }
  }

  private func join(_ request: Request, _ number: Int, _ waiter: Waiter, _ next: @escaping Send) {
    state.withLock { state in
      if state.calls[request] != nil {
        state.calls[request]?.waiters[number] = waiter
        return
      }
      // Owned by its waiters: the last one to leave cancels it.
      let task = Task {
        do {
          let response = try await next(request)
          self.end(request, number, .success(response))
        } catch { self.end(request, number, .failure(error)) }
      }
      state.calls[request] = Call(number: number, task: task, waiters: [number: waiter])
    }
  }

  private func leave(_ request: Request, _ number: Int) {
    let (waiter, abandoned) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
      let waiter = state.calls[request]?.waiters.removeValue(forKey: number)
      guard waiter != nil, state.calls[request]?.waiters.isEmpty == true else { return (waiter, nil) }
      return (waiter, state.calls.removeValue(forKey: request)?.task)
    }
    abandoned?.cancel()
    waiter?.resume(throwing: CancellationError())
  }

  /// - Parameter number: of the call; one that was abandoned may have a successor.
  private func end(_ request: Request, _ number: Int, _ result: Result<Response, any Error>) {
    let waiters = state.withLock { state in
      state.calls[request]?.number == number ? state.calls.removeValue(forKey: request)?.waiters : nil
    }
    for waiter in (waiters ?? [:]).values { waiter.resume(with: result) }
  }
}
