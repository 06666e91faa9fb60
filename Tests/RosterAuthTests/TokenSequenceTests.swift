import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

/// Results of several events in a row.
struct TokenSequenceTests {
  /// One with client credentials whose refresh token is being tried.
  private static func clientWorld() -> TokenWorld {
    var world = TokenWorld(.oauth2ClientCredentials)
    _ = world.wanted()
    world.due()
    world.granted()
    world.wrote()
    world.accepted(world.machine.generation)
    _ = world.rejected(world.machine.generation)
    world.due()
    return world
  }

  @Test("33: with client credentials a refused refresh token is followed by one grant without it")
  func newGrant() {
    var world = Self.clientWorld()
    #expect(world.sending?.session.refreshToken != nil)
    world.failed(.refused(TokenMachine.Fault.ending))
    #expect(world.isSending && world.sending?.session.refreshToken == nil)
    world.failed(.refused(TokenMachine.Fault.ending))
    #expect(!world.isSending && world.machine.session.ending != nil)
    #expect(world.sent == 3)
  }

  @Test("41: after a stop no new grant follows a refused refresh token; the next process begins with the grant")
  func noGrantAfterStop() {
    var world = Self.clientWorld()
    world.stop()
    world.failed(.refused(TokenMachine.Fault.ending))
    #expect(world.sent == 2 && world.released.count == 2)
    world.wrote()
    #expect(world.disk?.refreshToken == nil && world.disk?.ending == nil && world.machine.phase == .idle)
  }

  @Test("41: a token request that was planned but not sent does not begin after a stop")
  func notBegun() {
    var world = TokenWorld()
    let (waiter, _) = world.wanted()
    world.stop()
    world.due()
    #expect(world.sent == 0 && world.released[waiter] == .failed(.stopping))
  }

  @Test("30: a token that arrives expired serves its sync without a loop; the next sync begins with a refresh")
  func bornExpired() {
    var world = TokenWorld()
    for sync in 1...2 {
      _ = world.syncBegan()
      let (waiter, outcome) = world.wanted()
      #expect(outcome == .waits)
      world.due()
      world.granted(life: 0)
      world.wrote()
      let token = world.machine.token
      #expect(world.released[waiter] == .token(token) && token?.isExpired(world.now) == true)
      for _ in 1...3 {
        world.pass(1)
        #expect(world.machine.wanted(100, now: world.now) == .use(token))
      }
      #expect(world.sent == sync && !world.isBusy)
    }
    let used = world.machine.generation
    world.accepted(used)
    _ = world.rejected(used)
    world.due()
    #expect(world.sent == 3, "34: after the token has worked, a 401 causes another refresh")
  }

  /// A world whose brand-new token is refused until its sync fails.
  private static func refusedWorld() -> TokenWorld {
    var world = TokenWorld.refreshing()
    world.granted()
    world.wrote()
    let fresh = world.machine.generation
    let (trial, _) = world.rejected(fresh, isFresh: true)
    var outcome = TokenWorld.Outcome.waits
    for _ in 0..<3 { outcome = world.rejected(fresh, isFresh: true, trial: trial).1 }
    guard case .failed(let failure) = outcome else {
      Issue.record("the trial goes on: \(outcome)")
      return world
    }
    #expect(failure.trouble == .freshRefused && world.wanted().1 == outcome)
    return world
  }

  @Test("34: the next sync tries a refused token before it asks for another", arguments: [true, false])
  func refusedBefore(works: Bool) {
    var world = Self.refusedWorld()
    _ = world.syncBegan()
    #expect(world.wanted().1 == .token(world.machine.token) && world.sent == 1)
    if works {
      world.accepted(world.machine.generation)
      #expect(!world.isBusy && world.sent == 1)
    } else {
      #expect(world.rejected(world.machine.generation).1 == .waits)
      world.due()
      #expect(world.sent == 2)
    }
  }

  @Test("34: while one request tries a brand-new token, all others wait for its result")
  func waitForTrial() {
    var world = TokenWorld.refreshing()
    world.granted()
    world.wrote()
    let fresh = world.machine.generation
    let (trial, outcome) = world.rejected(fresh, isFresh: true)
    #expect(outcome == .probes(trial))
    let (second, refused) = world.rejected(fresh, isFresh: true)
    let (third, new) = world.wanted()
    #expect(refused == .waits && new == .waits)
    world.accepted(fresh)
    #expect(world.released[second] == .token(world.machine.token))
    #expect(world.released[third] == .token(world.machine.token) && world.sent == 1)
  }

  @Test("30: a token that expires after its arrival is refreshed in the same sync")
  func outlived() {
    var world = TokenWorld.refreshing()
    world.granted(life: 5)
    world.wrote()
    world.pass(6)
    #expect(world.wanted().1 == .waits)
  }

  @Test("30: a 401 to a token that has expired meanwhile causes a refresh, although the token was fresh")
  func expiredUnproven() {
    var world = TokenWorld.refreshing()
    world.granted(life: 2)
    world.wrote()
    let used = world.machine.generation
    world.pass(3)
    #expect(world.rejected(used).1 == .waits)
    world.due()
    world.granted(life: 60)
    world.wrote()
    let (trial, outcome) = world.rejected(world.machine.generation, isFresh: true)
    #expect(outcome == .probes(trial))
  }

  @Test("35: a session that begins during a refresh begins after it, with the successor of the token that it shares")
  func sharedSuccessor() {
    for isAnswered in [false, true] {
      var world = TokenWorld.refreshing(after: "a0")
      if isAnswered { world.granted() }
      var files = world.files
      files.accessToken = Secret("a9")
      files.refreshToken = nil
      world.reload(.oauth2Refresh, files: files)
      if !isAnswered { world.granted() }
      world.wrote()
      #expect(world.machine.token?.access == Secret("a9") && world.machine.session.refreshToken == Secret("r1"))
      _ = world.rejected(world.machine.generation)
      world.due()
      #expect(world.sending?.session.refreshToken == Secret("r1"))
    }
  }

  @Test("32: a session that begins during a refresh without an answer notes that its token may be used up")
  func sharedUnanswered() {
    var world = TokenWorld.refreshing(after: "a0")
    var files = world.files
    files.accessToken = Secret("a9")
    world.reload(.oauth2Refresh, files: files)
    world.failed(.passing(TokenMachine.Fault.failure, delay: nil, delivery: .lost))
    world.wrote()
    #expect(world.machine.session.isUnanswered && world.machine.session.refreshToken == Secret("r0"))
  }

  @Test("33: a session that ends during another token request has ended for the next process too")
  func endedWhileSending() {
    var world = TokenWorld.refreshing(after: "a0")
    world.loggedOut(1)
    world.granted()
    world.wrote()
    world.wrote()
    #expect(world.disk?.ending != nil && world.disk?.refreshToken == Secret("r1"))
  }

  @Test("25: a pause that answers the last request of a session that has ended is kept")
  func pausedWhileEnding() {
    var world = TokenWorld.refreshing(after: "a0")
    world.loggedOut(1)
    var failure = TokenMachine.Fault.failure
    failure.retryAfter = .seconds(60)
    world.failed(.passing(failure, delay: nil, delivery: .answered))
    world.wrote()
    #expect(world.disk?.ending != nil && world.disk?.pause?.until == world.now.date + 60)
  }

  @Test("33: a retry that is requested during a sync holds in that sync, once", arguments: [false, true])
  func retryAsked(ended: Bool) {
    var world = TokenWorld.refreshing()
    if ended {
      world.failed(.refused(TokenMachine.Fault.ending))
      world.wrote()
    }
    world.machine.requestRetry()
    if ended {
      _ = world.wanted()
      world.due()
    } else {
      world.failed(.refused(TokenMachine.Fault.ending))
    }
    #expect(world.isSending && world.sent == 2)
    world.failed(.refused(TokenMachine.Fault.ending))
    #expect(!world.isSending && world.machine.session.ending != nil)
  }

  @Test("31, 35: a credential that changes during a refresh wins when the answer is stored")
  func changedMeanwhile() {
    var world = TokenWorld()
    let (waiter, _) = world.wanted()
    world.due()
    var files = world.files
    files.refreshToken = Secret("r9")
    files.accessToken = Secret("a9")
    world.reload(.oauth2Refresh, files: files)
    #expect(world.released[waiter] == nil && world.machine.isInFlight)
    world.granted()
    world.wrote()
    #expect(world.disk?.refreshToken == Secret("r1"))
    #expect(world.machine.token?.access == Secret("a9") && world.machine.session.refreshToken == Secret("r9"))
  }

  @Test("31: an answer that could not be stored is stored before a reload, which is refused if that fails again")
  func unstoredThroughReload() {
    var world = TokenWorld.refreshing()
    world.granted()
    world.writeFailed()
    world.reload(.none, files: world.files)
    world.writeFailed()
    #expect(world.machine.settings.flow == .oauth2Refresh)
    guard case .failed = world.wanted().1 else {
      Issue.record("a request is served")
      return
    }
    let (waiter, _) = world.syncBegan()
    #expect(world.wanted().1 == .waits)
    world.wrote()
    #expect(world.released[waiter] == .token(nil) && world.machine.token?.access == Secret("a1"))
    #expect(world.sent == 1)
    world.reload(.none, files: world.files)
    #expect(world.machine.settings.flow == .none && world.disk?.refreshToken == Secret("r1"))
  }
}
