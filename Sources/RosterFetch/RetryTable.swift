package import RosterModel

/// The table of P11: it decides which failures of a request lead to another attempt, and when.
package struct RetryTable: Sendable, Equatable {
  private let delays: RetryDelays

  /// A table with the delays and the number of retries in `retry`.
  package init(_ delays: RetryDelays) {
    self.delays = delays
  }

  /// The decision after a failed attempt.
  package enum Decision: Sendable, Equatable {
    case again(after: Duration)
    case giveUp
  }

  /// - Parameters:
  ///   - attempt: number of attempts so far, from 1.
  ///   - malformed: number of attempts with a body that is not a page.
  ///   - random: a number in 0..<1, for the jitter.
  package func decide(_ fault: Failure, attempt: Int, malformed: Int, random: Double) -> Decision {
    guard let reason = fault.reason, attempt <= delays.maxRetries else { return .giveUp }
    let backoff = delays.delay(afterAttempt: attempt, retryAfter: fault.retryAfter, random: random)
    switch reason {
    case .connection, .dns, .tls, .timeout, .truncated, .rateLimit, .partialAnswer:
      return .after(backoff)
    case .clientCertificate: return .giveUp
    case .malformed, .tooLarge:
      return malformed > 1 ? .giveUp : .after(backoff)
    case .status(let code):
      return StatusRule(code).retriesPages ? .after(backoff) : .giveUp
    }
  }

  /// How long no page request may start after a failure; nil if it concerns only its own request. After a rate limit,
  /// other requests would be limited too.
  package func hold(after reason: Failure.Reason?, _ retryAfter: Duration?, attempt: Int) -> Duration? {
    let isRateLimit = reason == .rateLimit
    let asked = retryAfter.flatMap { isRateLimit || $0 > delays.maxRetryAfter ? $0 : nil }
    let backoff = isRateLimit ? delays.delay(afterAttempt: attempt, retryAfter: asked, random: 0) : nil
    let hold = max(asked ?? .zero, backoff ?? .zero)
    return hold > .zero ? hold : nil
  }

  /// The longest Retry-After that a request waits for.
  var maxRetryAfter: Duration { delays.maxRetryAfter }

  /// Largest random addition to a delay, so that many requests do not start at once.
  package var jitter: Duration { delays.jitter }
}

extension RetryTable.Decision {
  fileprivate static func after(_ delay: Duration?) -> Self { delay.map { .again(after: $0) } ?? .giveUp }
}
