/// `[retry]` of the configuration: how long to wait before a request is tried again (P11).
package struct RetryDelays: Sendable, Equatable {
  /// Of one request, after its first attempt; 0…20.
  package var maxRetries: Int
  /// Before the first retry; doubles with each further one.
  package var base: Duration
  /// What the doubled delay does not exceed; not less than `base`.
  package var max: Duration
  /// Up to this much is added to each delay.
  package var jitter: Duration
  /// The longest Retry-After that is waited for within a sync.
  package var maxRetryAfter: Duration

  /// The defaults are those of section 2 of docs/CONTRACT.md.
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
