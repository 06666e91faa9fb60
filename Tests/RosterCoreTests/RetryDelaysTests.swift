import RosterCore
import Testing

struct RetryDelaysTests {
  private let delays = RetryDelays(maxRetries: 6)

  @Test(
    "24: the backoff is 1 s, 2 s, 4 s … up to max_delay",
    arguments: [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10)])
  func doubles(attempt: Int, seconds: Int) {
    #expect(delays.delay(afterAttempt: attempt, retryAfter: nil, random: 0) == .seconds(seconds))
  }

  @Test("24: there are at most max_retries retries after the first attempt")
  func ends() {
    #expect(delays.delay(afterAttempt: 7, retryAfter: nil, random: 0) == nil)
    #expect(RetryDelays(maxRetries: 0).delay(afterAttempt: 1, retryAfter: nil, random: 0) == nil)
  }

  @Test("24, 25: Retry-After is the minimum delay; beyond max_retry_after there is no further attempt")
  func retryAfter() {
    #expect(delays.delay(afterAttempt: 1, retryAfter: .seconds(30), random: 0) == .seconds(30))
    #expect(delays.delay(afterAttempt: 4, retryAfter: .seconds(1), random: 0) == .seconds(8))
    #expect(delays.delay(afterAttempt: 1, retryAfter: .seconds(120), random: 0) == .seconds(120))
    #expect(delays.delay(afterAttempt: 1, retryAfter: .seconds(121), random: 0) == nil)
  }

  @Test("24: up to jitter is added, with and without Retry-After")
  func jitter() {
    #expect(delays.delay(afterAttempt: 1, retryAfter: nil, random: 0.5) == .milliseconds(1250))
  }
}
