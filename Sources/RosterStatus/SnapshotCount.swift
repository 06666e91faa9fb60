import Synchronization

/// Counts the snapshots that readers have seen, and wakes the server whose clients wait for one.
final class SnapshotCount: Sendable {
  private struct State {
    var count = 0
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  var value: Int { state.withLock { $0.count } }

  /// Call this when readers see another snapshot.
  func add() {
    let wake = state.withLock { state in
      state.count += 1
      return state.wake
    }
    wake?()
  }

  /// Sets the function that is called for each snapshot, from any thread; nil removes it.
  func wake(_ wake: (@Sendable () -> Void)?) { state.withLock { $0.wake = wake } }
}
