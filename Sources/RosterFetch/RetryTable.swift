package import RosterModel

/// Which failures of a request are met by another attempt, and when: P11, the whole of it.
package struct RetryTable: Sendable, Equatable {
  package var maxRetries: Int
  package var baseDelay: Duration
  package var maxDelay: Duration
  /// Up to this much is added to each delay.
  package var jitter: Duration
  /// A longer Retry-After is not waited for.
  package var maxRetryAfter: Duration

  package init(
    maxRetries: Int = 3, baseDelay: Duration = .seconds(1), maxDelay: Duration = .seconds(10),
    jitter: Duration = .milliseconds(500), maxRetryAfter: Duration = .seconds(120)
  ) {
    self.maxRetries = maxRetries
    self.baseDelay = baseDelay
    self.maxDelay = maxDelay
    self.jitter = jitter
    self.maxRetryAfter = maxRetryAfter
  }

  package enum Decision: Sendable, Equatable {
    case again(after: Duration)
    case giveUp
  }

  /// - Parameters:
  ///   - attempt: how many were made, from 1.
  ///   - malformed: how many of them brought a body that is not a page.
  ///   - random: 0..<1, for the jitter.
  package func decide(_ failure: Failure, attempt: Int, malformed: Int, random: Double) -> Decision {
    guard let reason = failure.reason, attempt <= maxRetries else { return .giveUp }
    let backoff = delay(attempt: attempt, random: random)
    switch reason {
    case .connection, .dns, .tls, .timeout, .truncated:
      return .again(after: backoff)
    case .malformed, .tooLarge:
      return malformed > 1 ? .giveUp : .again(after: backoff)
    case .status(429):
      return again(after: failure.retryAfter ?? backoff)
    case .status(let code) where Self.passing.contains(code):
      return again(after: max(backoff, failure.retryAfter ?? .zero))
    case .status:
      return .giveUp
    }
  }

  /// Exponential: base, 2 × base, 4 × base …, capped, and the jitter on top.
  package func delay(attempt: Int, random: Double) -> Duration {
    min(maxDelay, baseDelay * (1 << min(attempt - 1, Self.mostDoublings))) + jitter * random
  }

  /// Statuses that say "later", beside 429.
  package static let passing: Set<Int> = [408, 500, 502, 503, 504]

  /// Beyond this any delay is at its cap, and a shift stays within an Int32.
  private static let mostDoublings = 30

  private func again(after delay: Duration) -> Decision {
    delay > max(maxRetryAfter, maxDelay + jitter) ? .giveUp : .again(after: delay)
  }
}
