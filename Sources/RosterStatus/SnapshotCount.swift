import Synchronization

/// Counts the snapshots that readers have come to see, and wakes the server that has clients who wait for one.
final class SnapshotCount: Sendable {
  private struct State {
    var count = 0
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  var value: Int { state.withLock { $0.count } }

  /// Readers see another snapshot from now on.
  func add() {
    let wake = state.withLock { state in
      state.count += 1
      return state.wake
    }
    wake?()
  }

  /// Who is told of each, from any thread; nil: nobody any more.
  func wake(_ wake: (@Sendable () -> Void)?) { state.withLock { $0.wake = wake } }
}
