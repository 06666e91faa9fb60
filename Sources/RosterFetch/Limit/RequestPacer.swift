import RosterAuth
package import RosterModel
import Synchronization

/// Has requests wait until `limit.rate` permits them, in the order in which they came; token requests go ahead, for
/// others wait for them.
package final class RequestPacer: Sendable {
  fileprivate struct Waiting {
    var id: Waiters<Void>.ID
    var isAhead: Bool
  }

  fileprivate struct State {
    /// nil: no limit.
    var pace: RequestPace?
    var rate: Double
    var queue: [Waiting] = []
    /// Sleeps until the first of the queue may start. It is cancelled as soon as nobody waits for it.
    var nap: Task<Void, Never>?
    /// Of the nap: one that was cancelled must not be taken for its successor.
    var naps = 0
    var isStopped = false
  }

  /// By which it counts.
  package let clock: WallClock
  private let waiters = Waiters<Void>()
  private let state: Mutex<State>

  /// - Parameter rate: requests a second; 0: no limit.
  package init(rate: Double, clock: WallClock) {
    self.clock = clock
    let pace = rate > 0 ? RequestPace(rate: rate, at: clock.uptime()) : nil
    state = Mutex(State(pace: pace, rate: rate))
  }

  /// Returns when a request may start. Throws CancellationError: after `stop` at once, whoever is the caller.
  /// - Parameter ahead: of those that wait already and are not ahead themselves.
  package func turn(ahead: Bool = false) async throws {
    let id = waiters.open()
    serve(at: clock.uptime()) { state in
      if state.isStopped { return waiters.settle(id, .failure(CancellationError())) }
      let place = ahead ? state.queue.firstIndex { !$0.isAhead } : nil
      state.queue.insert(Waiting(id: id, isAhead: ahead), at: place ?? state.queue.endIndex)
    }
    do { try await waiters.value(id) } catch {
      serve(at: clock.uptime()) { state in state.queue.removeAll { $0.id == id } }
      throw error
    }
  }

  /// How many do.
  var waiting: Int { state.withLock { $0.queue.count } }

  /// As a reload has it: holds at once, for those that wait too.
  package func change(rate: Double) {
    let now = clock.uptime()
    serve(at: now) { state in
      guard state.rate != rate else { return }
      state.rate = rate
      // What was sent a moment ago was sent by another rate.
      state.pace = rate > 0 ? RequestPace(rate: rate, at: now, isRested: false) : nil
      state.nap?.cancel()
      state.nap = nil
    }
  }

  /// Nothing starts any more (P13).
  package func stop() {
    let left = state.withLock { state in
      state.isStopped = true
      state.nap?.cancel()
      defer { state.queue = [] }
      return state.queue
    }
    for waiting in left { waiters.settle(waiting.id, .failure(CancellationError())) }
  }

  /// Changes the queue, lets all start that may, and sleeps for the next one.
  private func serve(at now: Duration, _ change: (inout State) -> Void) {
    let starting = state.withLock { state in
      change(&state)
      let starting = state.takeStarting(at: now)
      if let wait = state.wait(at: now) { nap(wait, &state) } else { state.endNap() }
      return starting
    }
    for waiting in starting { waiters.settle(waiting.id, .success(())) }
  }

  private func nap(_ wait: Duration, _ state: inout State) {
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
