package import FoundationEssentials
package import RosterCore
import Synchronization

/// Delays page requests while upstream wants none: after a 429, or after a Retry-After that is too long to wait for. It
/// uses the monotonic clock, so that setting the time of day neither extends nor shortens a delay.
package final class RetryAfterGate: Sendable {
  private struct Hold {
    /// End of the hold, by `WallClock.uptime`.
    var end: Duration
    /// True if the request that received the Retry-After fails, and its sync with it.
    var isFailure = true
  }

  private let hold: Mutex<Hold?>
  private let store: @Sendable (RetryAfterHold) async -> Void

  /// - Parameters:
  ///   - stored: the hold that an earlier process stored.
  ///   - store: stores a new hold for the next process.
  package init(
    _ stored: RetryAfterHold? = nil, clock: WallClock = .system,
    store: @escaping @Sendable (RetryAfterHold) async -> Void = { _ in }
  ) {
    hold = Mutex(stored?.remaining(at: clock.now()).map { Hold(end: clock.uptime() + $0) })
    self.store = store
  }

  /// The rest of the hold; nil if requests may start.
  package func remaining(_ clock: WallClock) -> Duration? {
    hold.withLock { $0 }.map { $0.end - clock.uptime() }.flatMap { $0 > .zero ? $0 : nil }
  }

  /// The end of the hold by the time of day; nil if requests may start.
  package func until(_ clock: WallClock) -> Date? {
    remaining(clock).map { clock.now() + $0.seconds }
  }

  /// Starts or extends a hold, by a day at most. It applies at once; the method returns when the hold is stored.
  /// - Parameter isFailure: true if the request that received the Retry-After fails, and its sync with it.
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

  /// Returns when a request may start. Throws CancellationError. Also throws a `Failure` if the end is further
  /// away than `longest` and no other failure ends the sync, which would wait for hours.
  /// - Parameter jitter: added to this request's wait, so that waiting requests do not all start at once.
  package func wait(
    _ clock: WallClock, longest: Duration = RetryAfterHold.longest, jitter: @autoclosure () -> Duration
  ) async throws {
    while let left = remaining(clock) {
      if left > longest, hold.withLock({ $0?.isFailure == false }) { throw Self.tooFar(left, clock: clock) }
      try await clock.sleep(left + jitter())
    }
  }

  private static func tooFar(_ left: Duration, clock: WallClock) -> Failure {
    Failure(.unreachable, cause: cause(left, clock: clock), hint: patience).with(.held, [.header("Retry-After")])
  }

  private static func cause(_ left: Duration, clock: WallClock) -> String {
    "upstream wants no request before \((clock.now() + left.seconds).rfc3339) (Retry-After)"
  }

  private static let patience = "the next sync waits for it, and it is never further away than a day"
}

extension RetryAfterGate {
  /// Fails without a request if the hold lasts too long; otherwise the requests wait for its end.
  /// - Parameters:
  ///   - baseURL: the subject of the failure (69).
  ///   - lifting: the advice for an operator who knows that upstream is wrong.
  package func refuse(
    longerThan limit: Duration, _ baseURL: String, _ clock: WallClock, lifting: @autoclosure () -> String
  ) throws {
    guard let left = remaining(clock), left > limit else { return }
    throw Failure(
      .unreachable, step: "sync", subject: baseURL, cause: Self.cause(left, clock: clock),
      hint: "\(Self.patience); if upstream is wrong, \(lifting())"
    ).with(.held, [.header("Retry-After")])
  }
}
