package import FoundationEssentials
package import RosterModel
import Synchronization

/// Keeps page requests back while upstream wants none (429, or a Retry-After that is too long to wait for). Counts by
/// the monotonic clock: setting the time of day neither prolongs nor ends it.
package final class RetryAfterGate: Sendable {
  private struct Hold {
    /// By `WallClock.uptime`.
    var end: Duration
    /// The request that it was told to fails with it, and its sync.
    var isFailure = true
  }

  private let hold: Mutex<Hold?>
  private let store: @Sendable (RetryAfterHold) async -> Void

  /// - Parameters:
  ///   - stored: as an earlier process stored it.
  ///   - store: keeps a new one for the next process.
  package init(
    _ stored: RetryAfterHold? = nil, clock: WallClock = .system,
    store: @escaping @Sendable (RetryAfterHold) async -> Void = { _ in }
  ) {
    hold = Mutex(stored?.remaining(at: clock.now()).map { Hold(end: clock.uptime() + $0) })
    self.store = store
  }

  /// How long it still lasts; nil: requests may start.
  package func remaining(_ clock: WallClock) -> Duration? {
    hold.withLock { $0 }.map { $0.end - clock.uptime() }.flatMap { $0 > .zero ? $0 : nil }
  }

  /// Its end by the time of day; nil: requests may start.
  package func until(_ clock: WallClock) -> Date? {
    remaining(clock).map { clock.now() + $0.seconds }
  }

  /// Holds from now on, for a day at most. Returns when it is stored; it holds at once.
  /// - Parameter isFailure: whether the request that was told so fails, and its sync with it.
  package func extend(by wait: Duration, _ clock: WallClock, isFailure: Bool = true) async {
    let wait = min(wait, RetryAfterHold.longest)
    let wanted = clock.uptime() + wait
    let isLater = hold.withLock { hold in
      guard hold.map({ wanted > $0.end }) ?? true else { return false }
      hold = Hold(end: wanted, isFailure: isFailure)
      return true
    }
    let now = clock.now()
    if isLater { await store(RetryAfterHold(setAt: now, until: now + wait.seconds)) }
  }

  /// Returns when a request may start. Throws CancellationError, and a `RequestFault` where that is further away than
  /// `longest` and nobody else's failure ends the sync, which would wait for hours.
  /// - Parameter jitter: of this request alone, so that those that waited do not all start at once.
  package func wait(
    _ clock: WallClock, longest: Duration = RetryAfterHold.longest, jitter: @autoclosure () -> Duration
  ) async throws {
    while let left = remaining(clock) {
      if left > longest, hold.withLock({ $0?.isFailure == false }) { throw Self.tooFar(left, clock) }
      try await clock.sleep(left + jitter())
    }
  }

  private static func tooFar(_ left: Duration, _ clock: WallClock) -> RequestFault {
    var fault = RequestFault(.unreachable, cause: cause(left, clock), hint: patience).with(.held)
    fault.header = "Retry-After"
    return fault
  }

  private static func cause(_ left: Duration, _ clock: WallClock) -> String {
    "upstream wants no request before \((clock.now() + left.seconds).rfc3339) (Retry-After)"
  }

  private static let patience = "the next sync waits for it, and it is never further away than a day"
}

extension RetryAfterGate {
  /// Fails without a request where the time that upstream asked for is too far away; else the requests wait for it
  /// (P11).
  /// - Parameters:
  ///   - baseURL: for the failure (69).
  ///   - lifting: what an operator does who knows that upstream is wrong.
  package func refuse(
    longerThan limit: Duration, _ baseURL: String, _ clock: WallClock, lifting: @autoclosure () -> String
  ) throws {
    guard let left = remaining(clock), left > limit else { return }
    throw Failure(
      .unreachable, step: "sync", subject: baseURL, cause: Self.cause(left, clock),
      hint: "\(Self.patience); if upstream is wrong, \(lifting())"
    ).with(.held, [.header("Retry-After")])
  }
}
