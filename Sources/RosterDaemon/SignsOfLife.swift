import RosterCore
import RosterDefinition
import Synchronization

/// Decides whether the daemon makes progress: its loop answers, and a running sync advances. It is a pure value.
///
/// Times are from a clock that pauses while the machine sleeps, like the watchdog's, and that users cannot set.
struct SignsOfLife {
  typealias Instant = SuspendingClock.Instant

  enum Verdict: Equatable {
    case alive
    case loopIsSilent
    case syncIsSilent(Duration)
  }

  /// Three missed beats.
  static let maxSilenceOfLoop = Pulse.interval * 3

  private var loop: Instant
  /// Time of the running sync's last progress; nil if no sync runs.
  private var sync: Instant?

  init(at now: Instant) { loop = now }

  mutating func loopAnswered(at now: Instant) { loop = now }

  mutating func syncBegan(at now: Instant) { sync = now }

  /// Progress is a page, a phase, an answer of upstream, or a progress callback of the database.
  mutating func moved(at now: Instant) { if sync != nil { sync = now } }

  mutating func syncEnded() { sync = nil }

  /// - Parameter limit: the maximum time without progress of a sync.
  func verdict(at now: Instant, limit: Duration) -> Verdict {
    if now - loop >= Self.maxSilenceOfLoop { return .loopIsSilent }
    guard let sync, now - sync > limit else { return .alive }
    return .syncIsSilent(now - sync)
  }
}

/// The daemon's signs of life, which any thread may report.
final class Pulse: Sendable {
  /// Maximum interval between the loop's beats; half of the watchdog's interval if that is shorter. Each beat costs
  /// four thread wake-ups, because Dispatch recreates the threads of its pool for it.
  static let interval = Duration.seconds(30)

  private let signs = Mutex(SignsOfLife(at: .now))

  func loopAnswered() { signs.withLock { $0.loopAnswered(at: .now) } }

  func syncBegan() { signs.withLock { $0.syncBegan(at: .now) } }

  func moved() { signs.withLock { $0.moved(at: .now) } }

  func syncEnded() { signs.withLock { $0.syncEnded() } }

  func verdict(limit: Duration) -> SignsOfLife.Verdict { signs.withLock { $0.verdict(at: .now, limit: limit) } }
}

extension Configuration {
  /// The longest legitimate silence: one attempt, the longest wait before it, and the time between two progress
  /// callbacks of a publish. Both waits, that of the retry and that for a rate limit, may include the whole jitter.
  var maxSilenceOfSync: Duration {
    upstream.timeout + retry.maxDelay + retry.maxRetryAfter + maxTurn + max(.seconds(5), retry.jitter * 2)
  }

  /// Time between two requests under `limit.rate`.
  private var maxTurn: Duration { limit.rate > 0 ? .seconds(1 / limit.rate) : .zero }
}
