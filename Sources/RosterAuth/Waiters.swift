import Synchronization

/// Tasks that wait for one value each. Each task resumes exactly once, by its value or by its own cancellation.
///
/// `await task.value` would not do: it ignores the waiter's cancellation.
package final class Waiters<Value: Sendable>: Sendable {
  /// A reserved place.
  package typealias ID = Int

  private enum Place {
    case open
    case settled(Result<Value, any Error>)
    case waiting(CheckedContinuation<Value, any Error>)
  }

  private struct State {
    var lastID: ID = 0
    var places: [ID: Place] = [:]
  }

  private let state = Mutex(State())

  /// Makes an empty queue.
  package init() {}

  /// Reserves a place, so that a value that arrives before the wait is not lost. Each place needs a wait or a `close`.
  package func open() -> ID {
    state.withLock { state in
      state.lastID += 1
      state.places[state.lastID] = .open
      return state.lastID
    }
  }

  /// Gives up a reserved place without a wait.
  package func close(_ id: ID) {
    state.withLock { _ = $0.places.removeValue(forKey: id) }
  }

  /// Throws CancellationError as soon as the caller is cancelled.
  package func value(_ id: ID) async throws -> Value {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let settled = state.withLock { state -> Result<Value, any Error>? in
          if case .settled(let result) = state.places[id] {
            state.places[id] = nil
            return result
          }
          state.places[id] = .waiting(continuation)
          return nil
        }
        if let settled { continuation.resume(with: settled) }
      }
    } onCancel: {
      settle(id, result: .failure(CancellationError()))
    }
  }

  /// Has no effect on a place that is closed or settled.
  package func settle(_ id: ID, result: Result<Value, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
      switch state.places[id] {
      case .waiting(let continuation):
        state.places[id] = nil
        return continuation
      case .open:
        state.places[id] = .settled(result)
        return nil
      case .settled, nil: return nil
      }
    }
    continuation?.resume(with: result)
  }
}
