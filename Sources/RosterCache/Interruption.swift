import Synchronization

/// Interrupts long database work from another thread, until the work can no longer be undone.
final class Interruption: Sendable {
  private struct State {
    /// Address of the connection; nil while an interruption is not possible.
    var address: UInt?
    var isWanted = false
  }

  private let state = Mutex(State())

  func arm(_ address: UInt) {
    state.withLock { $0 = State(address: address) }
  }

  /// Makes later interruptions impossible. Throws CancellationError if one was requested before.
  func disarm() throws {
    let wasWanted = state.withLock { state in
      defer { state = State() }
      return state.isWanted
    }
    if wasWanted { throw CancellationError() }
  }

  var isWanted: Bool { state.withLock { $0.isWanted } }

  /// The lock is held during the call, so that the call cannot reach a COMMIT that has begun since.
  func interrupt() {
    state.withLock { state in
      guard let address = state.address else { return }
      state.isWanted = true
      Self.interrupt(address)
    }
  }
}
