package import RosterModel

/// Which failures of a request are met by another attempt, and when: P11, the whole of it.
package struct RetryTable: Sendable, Equatable {
  private let delays: RetryDelays

  /// With the delays, and the number of retries, that `retry` has.
  package init(_ delays: RetryDelays) {
    self.delays = delays
  }

  /// What follows an attempt that failed.
  package enum Decision: Sendable, Equatable {
    case again(after: Duration)
    case giveUp
  }

  /// - Parameters:
  ///   - attempt: how many were made, from 1.
  ///   - malformed: how many of them brought a body that is not a page.
  ///   - random: 0..<1, for the jitter.
  package func decide(_ fault: RequestFault, attempt: Int, malformed: Int, random: Double) -> Decision {
    guard let reason = fault.reason, attempt <= delays.maxRetries else { return .giveUp }
    let backoff = delays.delay(afterAttempt: attempt, retryAfter: fault.retryAfter, random: random)
    switch reason {
    case .connection, .dns, .tls, .timeout, .truncated, .rateLimit:
      return .after(backoff)
    case .clientCertificate: return .giveUp
    case .malformed, .tooLarge:
      return malformed > 1 ? .giveUp : .after(backoff)
    case .status(let code):
      return Self.passing.contains(code) ? .after(backoff) : .giveUp
    }
  }

  /// For how long no page request may start after it; nil: it concerns its own request only. Those that are under way
  /// beside one that met a rate limit would meet it too.
  package func hold(after reason: Failure.Reason?, _ retryAfter: Duration?, attempt: Int) -> Duration? {
    let isRateLimit = reason == .rateLimit
    let asked = retryAfter.flatMap { isRateLimit || $0 > delays.maxRetryAfter ? $0 : nil }
    let backoff = isRateLimit ? delays.delay(afterAttempt: attempt, retryAfter: asked, random: 0) : nil
    let hold = max(asked ?? .zero, backoff ?? .zero)
    return hold > .zero ? hold : nil
  }

  /// Statuses that say "later", besides those of a rate limit.
  package static let passing: Set<Int> = [408, 500, 502, 503, 504]

  /// The longest Retry-After that a request waits for.
  var maxRetryAfter: Duration { delays.maxRetryAfter }

  /// Up to this much is added to a delay, so that many requests do not start at once.
  package var jitter: Duration { delays.jitter }
}

extension RetryTable.Decision {
  fileprivate static func after(_ delay: Duration?) -> Self { delay.map { .again(after: $0) } ?? .giveUp }
}
