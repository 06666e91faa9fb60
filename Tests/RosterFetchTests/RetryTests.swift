import RosterCore
import RosterFetch
import Synchronization
import Testing

@Suite struct RetryTests {
  @Test(
    "25, 32: a token request that failed during a page's attempts is not repeated, and its Retry-After counts")
  func tokenRequest() async throws {
    let hold = RetryAfterGate()
    let clock = Naps().clock
    let retry = Retry(table: RetryTable(RetryDelays(jitter: .zero)), gate: hold, clock: clock)
    let ended = Failure(
      .unreachable, step: "get a new access token", subject: "http://localhost/token", cause: "upstream answered 503",
      reason: .status(503), retryAfter: .seconds(3600))
    let attempts = Mutex(0)
    let thrown = await #expect(throws: Failure.self) {
      try await retry.run(
        retried: { _, _, _ in },
        {
          let attempt = attempts.withLock { attempts in
            attempts += 1
            return attempts
          }
          if attempt == 1 { throw Failure(.unreachable, cause: "upstream answered 500", reason: .status(500)) }
          throw ended
        })
    }
    #expect(thrown == ended && attempts.withLock { $0 } == 2)
    #expect(hold.remaining(clock) != nil, "no page is asked for before the time that upstream has named")
  }

  @Test(
    "25: the pause of a token server delays pages only if it is the server of the pages",
    arguments: [("http://tokens.test/token", false), ("http://pages.test:80/token", true)])
  func tokenServer(address: String, isHeld: Bool) async throws {
    let (hold, clock) = (RetryAfterGate(), Naps().clock)
    let retry = Retry(
      table: RetryTable(RetryDelays(jitter: .zero)), gate: hold, clock: clock, baseURL: "http://pages.test/api")
    var failure = Failure(
      .unreachable, step: "get a new access token", subject: address, cause: "upstream answered 429",
      reason: .rateLimit, retryAfter: .seconds(3600))
    let first = failure
    await #expect(throws: first) { try await retry.run(retried: { _, _, _ in }, { throw first }) }
    #expect((hold.remaining(clock) != nil) == isHeld)
    // The page's own 401 had a Retry-After too.
    failure.pageRetryAfter = .seconds(600)
    let held = failure
    await #expect(throws: held) { try await retry.run(retried: { _, _, _ in }, { throw held }) }
    #expect(hold.remaining(clock) != nil)
  }

  @Test("24: after the last retry the message is the last attempt's, with the number of attempts")
  func exhausted() async throws {
    let retry = Retry(table: RetryTable(RetryDelays(jitter: .zero)), gate: RetryAfterGate(), clock: Naps().clock)
    let fault = Failure(.unreachable, cause: "upstream answered 500", hint: "wait", reason: .status(500))
    let thrown = await #expect(throws: Failure.self) {
      try await retry.run(retried: { _, _, _ in }, { throw fault })
    }
    var expected = fault
    expected.cause += " (4 attempts)"
    #expect(thrown == expected)
  }
}
