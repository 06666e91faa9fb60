import RosterAuth
package import RosterCore
import Synchronization

/// Lets requests wait until `limit.rate` permits them, in the order of their arrival. Token requests go first, because
/// other requests wait for them.
package final class RequestPacer: Sendable {
  fileprivate struct Waiting {
    var id: Waiters<Void>.ID
    var isAhead: Bool
  }

  fileprivate struct State {
    /// nil if there is no limit.
    var pace: RequestPace?
    var rate: Double
    var queue: [Waiting] = []
    /// Sleeps until the first request of the queue may start. It is cancelled as soon as the queue is empty.
    var nap: Task<Void, Never>?
    /// Number of the nap, which distinguishes a cancelled nap from its successor.
    var naps = 0
    var isStopped = false
  }

  /// The clock that it uses.
  package let clock: WallClock
  private let waiters = Waiters<Void>()
  private let state: Mutex<State>

  /// - Parameter rate: requests a second; 0 means no limit.
  package init(rate: Double, clock: WallClock) {
    self.clock = clock
    let pace = rate > 0 ? RequestPace(rate: rate, at: clock.uptime()) : nil
    state = Mutex(State(pace: pace, rate: rate))
  }

  /// Returns when a request may start. Throws CancellationError; after `stop` it throws at once.
  /// - Parameter ahead: goes before waiting requests that are not ahead themselves.
  package func turn(ahead: Bool = false) async throws {
    let id = waiters.open()
    serve(at: clock.uptime()) { state in
      if state.isStopped { return waiters.settle(id, result: .failure(CancellationError())) }
      let place = ahead ? state.queue.firstIndex { !$0.isAhead } : nil
      state.queue.insert(Waiting(id: id, isAhead: ahead), at: place ?? state.queue.endIndex)
    }
    do { try await waiters.value(id) } catch {
      serve(at: clock.uptime()) { state in state.queue.removeAll { $0.id == id } }
      throw error
    }
  }

  var waiting: Int { state.withLock { $0.queue.count } }

  /// Applies the rate of a reload at once, to waiting requests too.
  package func change(rate: Double) {
    let now = clock.uptime()
    serve(at: now) { state in
      guard state.rate != rate else { return }
      state.rate = rate
      if rate > 0 {
        state.pace = state.pace?.changed(to: rate, at: now) ?? RequestPace(rate: rate, at: now, isRested: false)
      } else {
        state.pace = nil
      }
      state.nap?.cancel()
      state.nap = nil
    }
  }

  /// Prevents all further requests.
  package func stop() {
    let left = state.withLock { state in
      state.isStopped = true
      state.nap?.cancel()
      defer { state.queue = [] }
      return state.queue
    }
    for waiting in left { waiters.settle(waiting.id, result: .failure(CancellationError())) }
  }

  /// Changes the queue, starts all requests that may start, and sleeps until the next one may.
  private func serve(at now: Duration, _ change: (inout State) -> Void) {
    let starting = state.withLock { state in
      change(&state)
      let starting = state.takeStarting(at: now)
      if let wait = state.wait(at: now) { nap(wait, state: &state) } else { state.endNap() }
      return starting
    }
    for waiting in starting { waiters.settle(waiting.id, result: .success(())) }
  }

  private func nap(_ wait: Duration, state: inout State) {
    guard state.nap == nil else { return }
    state.naps += 1
    let number = state.naps
    state.nap = Task { [self, clock] in
      guard (try? await clock.sleep(wait)) != nil else { return }
      serve(at: clock.uptime()) { state in if state.naps == number { state.nap = nil } }
    }
  }
}

extension RequestPacer.State {
  fileprivate mutating func takeStarting(at now: Duration) -> [RequestPacer.Waiting] {
    var count = 0
    while count < queue.count, pace.map({ $0.wait(at: now) == .zero }) ?? true {
      pace?.take(at: now)
      count += 1
    }
    defer { queue.removeFirst(count) }
    return Array(queue.prefix(count))
  }

  fileprivate func wait(at now: Duration) -> Duration? { queue.isEmpty ? nil : pace?.wait(at: now) }

  fileprivate mutating func endNap() {
    nap?.cancel()
    nap = nil
  }
}
