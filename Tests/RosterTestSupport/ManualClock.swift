package import FoundationEssentials
package import RosterCore
import Synchronization

/// A clock that only a test moves. A test waits for a sleeper before it advances the clock, so that no result depends
/// on speed.
package final class ManualClock: Sendable {
  private struct Sleeper {
    var id: Int
    /// Time of the end, measured by `elapsed`.
    var due: Duration
    var wake: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now: Date
    var elapsed = Duration.zero
    var nextID = 0
    var sleepers: [Sleeper] = []
    var cancelled: Set<Int> = []
    var watchers: [(count: Int, resume: CheckedContinuation<Void, Never>)] = []

    mutating func takeSatisfiedWatchers() -> [CheckedContinuation<Void, Never>] {
      let satisfied = watchers.filter { $0.count <= sleepers.count }
      watchers.removeAll { $0.count <= sleepers.count }
      return satisfied.map(\.resume)
    }
  }

  private let state: Mutex<State>

  /// The clock begins at this time, by default at a fixed one.
  package init(now: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
    state = Mutex(State(now: now))
  }

  /// The current wall clock time.
  package var now: Date { state.withLock { $0.now } }

  /// The same clock in the form that the tested code takes.
  package var wallClock: WallClock {
    WallClock(now: { self.now }, sleep: { try await self.sleep($0) }, uptime: { self.state.withLock { $0.elapsed } })
  }

  /// Sets the wall clock forward or back; no time passes.
  package func set(by seconds: Double) { state.withLock { $0.now += seconds } }

  /// The delays of the current sleepers, the shortest first.
  package var pending: [Duration] {
    state.withLock { state in
      state.sleepers.map { .milliseconds((($0.due - state.elapsed).seconds * 1000).rounded()) }.sorted()
    }
  }

  /// Returns when at least this number of tasks sleep.
  package func sleepers(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let ready = state.withLock { state in
        if state.sleepers.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if ready { continuation.resume() }
    }
  }

  /// Advances the time and wakes all sleepers that are due.
  package func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now += duration.seconds
      state.elapsed += duration
      let due = state.sleepers.filter { $0.due <= state.elapsed }
      state.sleepers.removeAll { $0.due <= state.elapsed }
      return due
    }
    for sleeper in due { sleeper.wake.resume() }
  }

  /// Sets the wall clock as a user does. No wait becomes shorter or longer.
  package func set(_ now: Date) {
    state.withLock { $0.now = now }
  }

  private func sleep(_ duration: Duration) async throws {
    if duration <= .zero { return try Task.checkCancellation() }
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { wake in
        let (cancelled, watchers) = state.withLock { state -> (Bool, [CheckedContinuation<Void, Never>]) in
          if state.cancelled.remove(id) != nil { return (true, []) }
          let due = state.elapsed + duration
          state.sleepers.append(Sleeper(id: id, due: due, wake: wake))
          return (false, state.takeSatisfiedWatchers())
        }
        if cancelled { wake.resume(throwing: CancellationError()) }
        for watcher in watchers { watcher.resume() }
      }
    } onCancel: {
      let wake = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil
        }
        return state.sleepers.remove(at: index).wake
      }
      wake?.resume(throwing: CancellationError())
    }
  }
}
