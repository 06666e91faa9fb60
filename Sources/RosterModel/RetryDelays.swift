/// `[retry]` of the configuration: how long to wait before a request is tried again (P11).
package struct RetryDelays: Sendable, Equatable {
  package var maxRetries: Int
  package var base: Duration
  package var max: Duration
  package var jitter: Duration
  package var maxRetryAfter: Duration

  package init(
    maxRetries: Int = 3, base: Duration = .seconds(1), max: Duration = .seconds(10),
    jitter: Duration = .milliseconds(500), maxRetryAfter: Duration = .seconds(120)
  ) {
    self.maxRetries = maxRetries
    self.base = base
    self.max = max
    self.jitter = jitter
    self.maxRetryAfter = maxRetryAfter
  }

  /// The wait after a failed attempt (1 is the first), never shorter than Retry-After; nil: no further attempt.
  /// `random` is a number in 0..<1.
  package func delay(afterAttempt attempt: Int, retryAfter: Duration?, random: Double) -> Duration? {
    guard attempt <= maxRetries, (retryAfter ?? .zero) <= maxRetryAfter else { return nil }
    // Beyond 2^30 the doubling only risks an overflow: `max` has long taken over.
    let doubled = base * (1 << Swift.min(attempt - 1, 30))
    return Swift.max(Swift.min(doubled, max), retryAfter ?? .zero) + jitter * random
  }
}
