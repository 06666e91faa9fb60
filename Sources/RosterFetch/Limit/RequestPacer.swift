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

extension Interceptor {
  /// Sends requests for which `limit.budget` has room. In the chain it follows the interceptors that send a request
  /// several times, so that each attempt and each redirect counts.
  package static func budget(_ ledger: BudgetLedger) -> Interceptor {
    Interceptor { request, next in
      let number = try await ledger.spend()
      do {
        let response = try await next(request)
        ledger.ended(number, isSent: true)
        return response
      } catch {
        ledger.ended(number, isSent: (error as? Failure)?.exchange?.isUnsent != true)
        throw error
      }
    }
  }

  /// Delays token requests by `limit.rate`. Token requests do not need a token themselves.
  package static func pace(_ pacer: RequestPacer) -> Interceptor {
    Interceptor { request, next in
      try await pacer.turn(ahead: true)
      return try await next(request)
    }
  }
}

/// Decides when the next request may start by `limit.rate`. Pure; times are `WallClock.uptime`.
///
/// A plain token bucket fills during a burst, so that a second may see twice the rate. Here a burst is paid back before
/// the bucket fills again. Time without requests earns up to a second's worth of requests that may start at once, and
/// early requests delay the next ones. No second sees more than a second's worth.
package struct RequestPace: Sendable, Equatable {
  /// The time that one request occupies.
  private let gap: Duration
  /// Largest number of requests in a burst besides the first.
  private let maxCredit: Double
  private var credit: Double
  /// The time until which all permitted requests are used up.
  private var paidUntil: Duration

  /// - Parameters:
  ///   - rate: requests a second, above 0.
  ///   - isRested: true if no request was sent for a second, so that a burst may start.
  package init(rate: Double, at now: Duration, isRested: Bool = true) {
    gap = .seconds(1 / rate)
    maxCredit = max(1, rate.rounded(.down)) - 1
    credit = isRested ? maxCredit : 0
    paidUntil = now
  }

  /// The pace after a reload, without a burst, because recent requests followed another rate. A slower rate counts from
  /// the last request, and a faster one permits a request at once.
  package func changed(to rate: Double, at now: Duration) -> RequestPace {
    var next = RequestPace(rate: rate, at: now, isRested: false)
    if next.gap > gap { next.paidUntil = max(now, paidUntil - gap + next.gap) }
    return next
  }

  /// The wait of the next request; zero if it may start.
  package func wait(at now: Duration) -> Duration {
    let settled = settled(at: now)
    return settled.credit >= 1 ? .zero : max(.zero, settled.paidUntil - now)
  }

  /// Counts a request that starts after its wait.
  package mutating func take(at now: Duration) {
    self = settled(at: now)
    if paidUntil > now { credit -= 1 }
    paidUntil += gap
  }

  private func settled(at now: Duration) -> RequestPace {
    guard now > paidUntil else { return self }
    var settled = self
    settled.credit = min(maxCredit, (now - paidUntil) / gap)
    settled.paidUntil = now
    return settled
  }
}
