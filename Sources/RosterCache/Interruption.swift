import Synchronization

/// Breaks off a long piece of database work from another thread, up to the point of no return.
final class Interruption: Sendable {
  private struct State {
    /// Of the connection; nil while nothing may be broken off.
    var address: UInt?
    var isWanted = false
  }

  private let state = Mutex(State())

  func arm(_ address: UInt) {
    state.withLock { $0 = State(address: address) }
  }

  /// From here on nothing is broken off. Throws CancellationError where it was asked for before.
  func disarm() throws {
    let wasWanted = state.withLock { state in
      defer { state = State() }
      return state.isWanted
    }
    if wasWanted { throw CancellationError() }
  }

  var isWanted: Bool { state.withLock { $0.isWanted } }

  /// The lock is held over the call, so that it cannot reach a COMMIT that has begun since.
  func interrupt() {
    state.withLock { state in
      guard let address = state.address else { return }
      state.isWanted = true
      Self.interrupt(address)
    }
  }
}
