import Testing

@testable import RosterDaemon
@testable import RosterDefinition

@Suite("49: signs of life")
struct SignsOfLifeTests {
  private let start = SuspendingClock.now
  private let limit = Duration.seconds(167)

  private func verdict(_ signs: SignsOfLife, after seconds: Int) -> SignsOfLife.Verdict {
    var signs = signs
    // The loop answers all the while.
    signs.loopAnswered(at: start + .seconds(seconds))
    return signs.verdict(at: start + .seconds(seconds), limit: limit)
  }

  @Test("49: a sync may be silent as long as an attempt and the waits before it take, and no longer")
  func silent() {
    var signs = SignsOfLife(at: start)
    signs.syncBegan(at: start)
    #expect(verdict(signs, after: 167) == .alive)
    #expect(verdict(signs, after: 168) == .syncIsSilent(.seconds(168)))
    signs.moved(at: start + .seconds(100))
    #expect(verdict(signs, after: 267) == .alive)
    #expect(verdict(signs, after: 268) == .syncIsSilent(.seconds(168)))
    signs.moved(at: start + .seconds(300))
    #expect(verdict(signs, after: 301) == .alive)
  }

  @Test("49: between syncs no sign is needed, and signs of that time do not count for the next sync")
  func idle() {
    var signs = SignsOfLife(at: start)
    #expect(verdict(signs, after: 9_999) == .alive)
    signs.syncBegan(at: start)
    signs.syncEnded()
    signs.moved(at: start + .seconds(1))
    #expect(verdict(signs, after: 9_999) == .alive)
    signs.syncBegan(at: start + .seconds(10_000))
    #expect(verdict(signs, after: 10_100) == .alive)
  }

  @Test("49: a loop that misses three beats is silent, regardless of the sync")
  func loop() {
    var signs = SignsOfLife(at: start)
    signs.syncBegan(at: start)
    signs.moved(at: start + .seconds(90))
    #expect(signs.verdict(at: start + .seconds(89), limit: limit) == .alive)
    #expect(signs.verdict(at: start + .seconds(90), limit: limit) == .loopIsSilent)
  }

  @Test(
    "49: the limit is upstream.timeout + retry.max_delay + max_retry_after + 5 s, and more with longer waits")
  func limitOfConfiguration() {
    var configuration = Configuration()
    #expect(configuration.maxSilenceOfSync == .seconds(30 + 10 + 120 + 5))
    // A wait that the configuration asks for does not count as silence.
    configuration.retry.jitter = .seconds(600)
    #expect(configuration.maxSilenceOfSync >= .seconds(30 + 10 + 120 + 1200))
    configuration.limit.rate = 0.001
    #expect(configuration.maxSilenceOfSync >= .seconds(30 + 10 + 120 + 1200 + 1000))
  }
}
