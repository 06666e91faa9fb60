import Testing

@testable import RosterStatusClient

@Suite struct SilencePolicyTests {
  @Test("rosterctl events reports a silence of 5 s once and ends after 60 s; a restart in between is neither")
  func patient() {
    var policy = SilencePolicy(toldAfter: .seconds(5), givenUpAfter: .seconds(60))
    func failed(_ silence: Duration) -> SilencePolicy.Verdict { policy.failed(after: silence) }
    #expect(failed(.zero) == .wait && failed(.milliseconds(4999)) == .wait)
    #expect(failed(.seconds(5)) == .tell && failed(.seconds(59)) == .wait)
    policy.answered()
    #expect(failed(.seconds(4)) == .wait && failed(.seconds(6)) == .tell && failed(.seconds(60)) == .giveUp)
  }

  @Test("rosterctl watch reports a silence at once and waits without end")
  func endless() {
    var policy = SilencePolicy(toldAfter: .zero, givenUpAfter: nil)
    #expect(policy.failed(after: .zero) == .tell)
    #expect(policy.failed(after: .seconds(100_000)) == .wait)
  }
}
