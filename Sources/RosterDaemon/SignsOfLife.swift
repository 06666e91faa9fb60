import RosterConfiguration
import RosterModel
import Synchronization

/// Whether the daemon still moves (S4): its loop answers, and a sync that runs gets on. Pure.
///
/// Times are of the clock that stands still while the machine sleeps, as the watchdog's does, and that nobody can set.
struct SignsOfLife {
  typealias Instant = SuspendingClock.Instant

  enum Verdict: Equatable {
    case alive
    case loopIsSilent
    case syncIsSilent(Duration)
  }

  /// Three beats missed.
  static let longestSilenceOfLoop = Pulse.interval * 3

  private var loop: Instant
  /// The last sign of the sync that runs.
  private var sync: Instant?

  init(at now: Instant) { loop = now }

  mutating func loopAnswered(at now: Instant) { loop = now }

  mutating func syncBegan(at now: Instant) { sync = now }

  /// A page, a phase, an answer of upstream, a tick of the database.
  mutating func moved(at now: Instant) { if sync != nil { sync = now } }

  mutating func syncEnded() { sync = nil }

  /// - Parameter limit: how long a sync may be silent.
  func verdict(at now: Instant, limit: Duration) -> Verdict {
    if now - loop >= Self.longestSilenceOfLoop { return .loopIsSilent }
    guard let sync, now - sync > limit else { return .alive }
    return .syncIsSilent(now - sync)
  }
}

/// The daemon's signs of life, given from any thread.
final class Pulse: Sendable {
  /// Of the loop's beats, at most; half of a shorter watchdog's. A beat wakes a thread four times: Dispatch makes those
  /// of its pool anew for it.
  static let interval = Duration.seconds(30)

  private let signs = Mutex(SignsOfLife(at: .now))

  func loopAnswered() { signs.withLock { $0.loopAnswered(at: .now) } }

  func syncBegan() { signs.withLock { $0.syncBegan(at: .now) } }

  func moved() { signs.withLock { $0.moved(at: .now) } }

  func syncEnded() { signs.withLock { $0.syncEnded() } }

  func verdict(limit: Duration) -> SignsOfLife.Verdict { signs.withLock { $0.verdict(at: .now, limit: limit) } }
}

extension Configuration {
  /// S4: one attempt, the longest wait before it, and what a publish may take between two ticks. Both waits, of the
  /// request itself and for a rate limit, may have the whole jitter.
  var longestSilenceOfSync: Duration {
    upstream.timeout + retry.maxDelay + retry.maxRetryAfter + longestTurn + max(.seconds(5), retry.jitter * 2)
  }

  /// From one request to the next by `limit.rate`.
  private var longestTurn: Duration { limit.rate > 0 ? .seconds(1 / limit.rate) : .zero }
}
