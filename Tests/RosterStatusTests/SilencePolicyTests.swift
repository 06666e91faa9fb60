import Testing

@testable import RosterStatus

@Suite struct SilencePolicyTests {
  @Test("rosterctl events: a silence of 5 s is told once, one of 60 s is the end; a restart in between is neither")
  func patient() {
    var policy = SilencePolicy(toldAfter: .seconds(5), givenUpAfter: .seconds(60))
    policy.answered()
    #expect(policy.failed(after: .zero) == .wait && policy.failed(after: .milliseconds(4999)) == .wait)
    #expect(policy.failed(after: .seconds(5)) == .tell && policy.failed(after: .seconds(59)) == .wait)
    policy.answered()
    #expect(policy.failed(after: .seconds(4)) == .wait && policy.failed(after: .seconds(6)) == .tell)
    #expect(policy.failed(after: .seconds(60)) == .giveUp)
  }

  @Test("rosterctl events: a daemon that never was there is not waited for, one that hangs is")
  func never() {
    var policy = SilencePolicy(toldAfter: .seconds(5), givenUpAfter: .seconds(60))
    #expect(policy.failed(after: .milliseconds(2)) == .giveUp)
    #expect(policy.failed(after: .seconds(5)) == .tell && policy.failed(after: .seconds(10)) == .wait)
  }

  @Test("rosterctl watch: it is told at once, and waited for without end")
  func endless() {
    var policy = SilencePolicy(toldAfter: .zero, givenUpAfter: nil)
    #expect(policy.failed(after: .zero) == .tell && policy.failed(after: .seconds(100_000)) == .wait)
  }
}
