/// The `[retry]` settings: the delays before a request is retried (P11).
package struct RetryDelays: Sendable, Equatable {
  /// Maximum number of retries of one request, 0 to 20.
  package var maxRetries: Int
  /// Delay before the first retry; it doubles with each further one.
  package var base: Duration
  /// Upper bound for the doubled delay; at least `base`.
  package var max: Duration
  /// Maximum random addition to each delay.
  package var jitter: Duration
  /// Maximum Retry-After that a sync waits for.
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

  /// The delay after a failed attempt (the first one is 1), at least Retry-After; nil if there is no further attempt.
  /// `random` is a number in 0..<1.
  package func delay(afterAttempt attempt: Int, retryAfter: Duration?, random: Double) -> Duration? {
    guard attempt <= maxRetries, (retryAfter ?? .zero) <= maxRetryAfter else { return nil }
    // Further doubling could overflow, and `max` limits the delay long before.
    let doubled = base * (1 << Swift.min(attempt - 1, 30))
    return Swift.max(Swift.min(doubled, max), retryAfter ?? .zero) + jitter * random
  }
}
