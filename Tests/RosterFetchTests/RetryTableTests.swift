import RosterCore
import RosterFetch
import Testing

private let table = RetryTable(RetryDelays())

private func decide(
  _ reason: Failure.Reason?, attempt: Int = 1, malformed: Int = 0, retryAfter: Duration? = nil, random: Double = 0
) -> RetryTable.Decision {
  let fault = Failure(.unreachable, cause: "c", reason: reason, retryAfter: retryAfter)
  return table.decide(fault, attempt: attempt, malformed: malformed, random: random)
}

@Suite struct RetryTableTests {
  @Test(
    "24: connection, DNS, TLS, timeout, truncation and passing statuses are retried with backoff",
    arguments: [.connection, .dns, .tls, .timeout, .truncated] as [Failure.Reason]
      + [408, 500, 502, 503, 504, 520, 529].map(Failure.Reason.status))
  func retried(reason: Failure.Reason) {
    let delays = (1...4).map { decide(reason, attempt: $0) }
    #expect(delays == [.again(after: .seconds(1)), .again(after: .seconds(2)), .again(after: .seconds(4)), .giveUp])
  }

  @Test(
    "24, 34: 401, other statuses, and failures without a reason are not retried by the table",
    arguments: [300, 304, 400, 401, 403, 404, 410, 418, 501, 505])
  func notRetried(status: Int) {
    #expect(decide(.status(status)) == .giveUp)
    #expect(decide(nil) == .giveUp)
  }

  @Test("14: a malformed or too large body is retried once, within max_retries")
  func malformed() {
    #expect(decide(.malformed, malformed: 1) == .again(after: .seconds(1)))
    #expect(decide(.tooLarge, attempt: 2, malformed: 2) == .giveUp)
    #expect(decide(.malformed, attempt: 4, malformed: 1) == .giveUp)
  }

  @Test(
    "25: a rate limit waits for its time, never shorter than the backoff; too long a time ends the sync"
  )
  func rateLimit() {
    #expect(decide(.rateLimit, retryAfter: .seconds(90)) == .again(after: .seconds(90)))
    #expect(decide(.rateLimit, retryAfter: .zero) == .again(after: .seconds(1)))
    #expect(decide(.rateLimit, attempt: 3, retryAfter: .seconds(2)) == .again(after: .seconds(4)))
    #expect(decide(.rateLimit) == .again(after: .seconds(1)))
    #expect(decide(.rateLimit, retryAfter: .seconds(121)) == .giveUp)
  }

  @Test("25: no page request starts before the end of a rate limit or of a long Retry-After")
  func holds() {
    func hold(_ reason: Failure.Reason, attempt: Int = 1, retryAfter: Duration?) -> Duration? {
      table.hold(after: reason, retryAfter, attempt: attempt)
    }
    #expect(hold(.rateLimit, retryAfter: .seconds(90)) == .seconds(90))
    #expect(
      hold(.rateLimit, retryAfter: .zero) == .seconds(1) && hold(.rateLimit, attempt: 2, retryAfter: nil) == .seconds(2)
    )
    #expect(
      hold(.rateLimit, attempt: 4, retryAfter: nil) == nil
        && hold(.rateLimit, attempt: 4, retryAfter: .seconds(7)) == .seconds(7))
    #expect(hold(.rateLimit, retryAfter: .seconds(3600)) == .seconds(3600))
    for status in [403, 404, 503] {
      #expect(hold(.status(status), retryAfter: .seconds(120)) == nil && hold(.status(status), retryAfter: nil) == nil)
      #expect(hold(.status(status), retryAfter: .seconds(121)) == .seconds(121))
    }
    #expect(hold(.connection, retryAfter: nil) == nil)
  }

  @Test("24: Retry-After of a 503 is the minimum delay")
  func minDelay() {
    #expect(decide(.status(503), retryAfter: .seconds(60)) == .again(after: .seconds(60)))
    #expect(decide(.status(503), retryAfter: .milliseconds(10)) == .again(after: .seconds(1)))
    #expect(decide(.status(503), retryAfter: .seconds(3600)) == .giveUp)
  }
}
