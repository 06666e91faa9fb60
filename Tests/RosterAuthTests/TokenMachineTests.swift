import FoundationEssentials
import RosterModel
import Testing

@testable import RosterAuth

/// Every state × every event: what the machine asks for, and where it goes.
struct TokenMachineTests {
  enum State: String, CaseIterable {
    case empty, valid, due, expired, refreshing, refreshingEarly, coolingDown, storing, keeping, unstored, barred, ended
  }

  enum Input: String, CaseIterable {
    case wanted, rejectedCurrent, rejectedLate, refusedAgain, loggedOut, refreshed, passingAgain, passingLast, refused,
      incomplete, other, due, stored, storeFailed, syncBegan, credentialChanged, stopped
  }

  private static let now = Date(timeIntervalSince1970: 1_700_000_000)
  private static let failure = TokenMachine.Fault.failure

  /// Generation 2, so that 1 is late.
  private static func machine(_ state: State) -> TokenMachine {
    switch state {
    case .empty: return TokenMachine(.sample(.oauth2Refresh), session(nil))
    case .valid: return settledMachine(life: 3600)
    case .due: return settledMachine(life: 30)
    case .expired: return settledMachine(life: 0)
    case .refreshing: return after(.empty) { _ = $0.wanted(9, now: now) }
    case .refreshingEarly: return after(.due) { _ = $0.wanted(9, now: now) }
    case .coolingDown: return after(.refreshing) { _ = $0.refreshFailed(.passing(again: true), now: now) }
    case .storing: return after(.refreshing) { _ = $0.refreshed(answer, now: now) }
    case .keeping: return after(.valid) { _ = $0.refusedAgain(2) }
    case .unstored: return after(.storing) { _ = $0.storeFailed(failure, now: now) }
    case .barred: return after(.refreshing) { _ = $0.refreshFailed(.other(failure), now: now) }
    case .ended:
      return after(.refreshing) {
        _ = $0.refreshFailed(.refused(.init(at: now, cause: "c", file: "f", tried: "d")), now: now)
        _ = $0.stored(now: now)
      }
    }
  }

  private static func after(_ state: State, _ change: (inout TokenMachine) -> Void) -> TokenMachine {
    var machine = machine(state)
    change(&machine)
    return machine
  }

  private static func settledMachine(life: Double) -> TokenMachine {
    var machine = TokenMachine(.sample(.oauth2Refresh), session(nil))
    _ = machine.credentialChanged(session(now + life), now: now)
    return machine
  }

  private static func session(_ expiry: Date?) -> Session {
    var session = Session(.sample(.oauth2Refresh), Credentials(refreshToken: Secret("r0")))
    session.access = expiry.map { IssuedToken(access: Secret("a"), obtainedAt: nil, expiresAt: $0) }
    return session
  }

  private static let answer = GrantAnswer(issued: IssuedToken(access: Secret("b")), refreshToken: Secret("r1"))

  private static func feed(_ input: Input, _ machine: inout TokenMachine) -> TokenMachine.Action {
    switch input {
    case .wanted: machine.wanted(1, now: now)
    case .rejectedCurrent: machine.rejected(1, machine.generation, now: now)
    case .rejectedLate: machine.rejected(1, machine.generation - 1, now: now)
    case .refusedAgain: machine.refusedAgain(machine.generation)
    case .loggedOut: machine.loggedOut(machine.generation, .init(at: now, cause: "c", file: "f", tried: "d"))
    case .refreshed: machine.refreshed(answer, now: now)
    case .passingAgain: machine.refreshFailed(.passing(again: true), now: now)
    case .passingLast: machine.refreshFailed(.passing(again: false), now: now)
    case .refused: machine.refreshFailed(.refused(TokenMachine.Fault.ending), now: now)
    case .incomplete: machine.refreshFailed(.incomplete(TokenMachine.Fault.ending), now: now)
    case .other: machine.refreshFailed(.other(failure), now: now)
    case .due: machine.due()
    case .stored: machine.stored(now: now)
    case .storeFailed: machine.storeFailed(failure, now: now)
    case .syncBegan: machine.syncBegan(1)
    case .credentialChanged: machine.credentialChanged(session(now + 3600), now: now)
    case .stopped: machine.stopped()
    }
  }

  /// One word for the action, one for the phase after it.
  private static func cell(_ state: State, _ input: Input) -> String {
    var machine = machine(state)
    let action = String("\(feed(input, &machine))".prefix { $0 != "(" })
    return "\(action)/\(String("\(machine.phase)".prefix { $0 != "(" }))"
  }

  /// "action/phase after it" and the events that lead there. What is not named is ignored and leaves the phase.
  private static let table: [State: [String: [Input]]] = [
    .empty: [
      "refresh/refreshing": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/idle": [.refusedAgain],
      "keep/keeping": [.loggedOut],
    ],
    .valid: [
      "use/idle": [.wanted, .rejectedLate],
      "refresh/refreshing": [.rejectedCurrent],
      "keep/keeping": [.refusedAgain, .loggedOut],
    ],
    .due: [
      "useAndRefresh/refreshing": [.wanted, .rejectedLate],
      "refresh/refreshing": [.rejectedCurrent],
      "keep/keeping": [.refusedAgain, .loggedOut],
    ],
    .expired: [
      "refresh/refreshing": [.wanted, .rejectedCurrent, .rejectedLate],
      "keep/keeping": [.refusedAgain, .loggedOut],
    ],
    .refreshing: [
      "wait/refreshing": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/refreshing": [.refusedAgain, .loggedOut],
      "store/storing": [.refreshed],
      "coolDown/coolingDown": [.passingAgain],
      "release/idle": [.passingLast, .other],
      "keep/keeping": [.refused, .incomplete],
    ],
    .refreshingEarly: [
      "use/refreshing": [.wanted, .rejectedLate],
      "wait/refreshing": [.rejectedCurrent],
      "release/refreshing": [.refusedAgain, .loggedOut],
      "store/storing": [.refreshed],
      "coolDown/coolingDown": [.passingAgain],
      "release/idle": [.passingLast, .other],
      "keep/keeping": [.refused, .incomplete],
    ],
    .coolingDown: [
      "wait/coolingDown": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/coolingDown": [.refusedAgain],
      "keep/keeping": [.loggedOut],
      "send/refreshing": [.due],
      "release/idle": [.credentialChanged, .stopped],
    ],
    .storing: [
      "wait/storing": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/storing": [.refusedAgain, .loggedOut],
      "release/idle": [.stored],
      "release/unstored": [.storeFailed],
    ],
    .keeping: [
      "fail/keeping": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/keeping": [.refusedAgain, .loggedOut],
      "ignore/idle": [.stored, .storeFailed],
    ],
    .unstored: [
      "fail/unstored": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/unstored": [.refusedAgain, .loggedOut],
      "store/storing": [.syncBegan, .stopped],
      "ignore/idle": [.credentialChanged],
    ],
    .barred: [
      "fail/idle": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/idle": [.refusedAgain],
      "keep/keeping": [.loggedOut],
    ],
    .ended: [
      "fail/idle": [.wanted, .rejectedCurrent, .rejectedLate, .syncBegan],
      "release/idle": [.refusedAgain],
    ],
  ]

  @Test(
    "Every event in every state does what the table says, and nothing where it says nothing", arguments: State.allCases)
  func row(state: State) throws {
    let row = try #require(Self.table[state])
    let unmoved = "ignore/\(String("\(Self.machine(state).phase)".prefix { $0 != "(" }))"
    for input in Input.allCases {
      let expected = row.first { $0.value.contains(input) }?.key ?? unmoved
      #expect(Self.cell(state, input) == expected, "\(state) × \(input)")
    }
  }

  @Test("T5: without an answer the refresh token may have been rotated; a granted one ends the doubt")
  func unanswered() {
    var machine = Self.machine(.refreshing)
    _ = machine.refreshFailed(.passing(again: true, answered: false), now: Self.now)
    _ = machine.due()
    #expect(machine.session.isUnanswered)
    _ = machine.refreshFailed(.passing(again: true), now: Self.now)
    _ = machine.due()
    #expect(machine.session.isUnanswered)
    _ = machine.refreshed(Self.answer, now: Self.now)
    _ = machine.stored(now: Self.now)
    #expect(!machine.session.isUnanswered)
  }

  @Test("T6: with client credentials a refused refresh token is followed by one grant without it")
  func newGrant() {
    var world = TokenWorld(.oauth2ClientCredentials)
    _ = world.wanted()
    world.granted()
    world.wrote()
    _ = world.rejected(nil)
    _ = world.syncBegan()
    _ = world.rejected(world.machine.generation)
    #expect(world.machine.session.refreshToken != nil)
    world.failed(.refused(TokenMachine.Fault.ending))
    #expect(world.isSending && world.machine.session.refreshToken == nil)
    world.failed(.refused(TokenMachine.Fault.ending))
    #expect(!world.isSending && world.machine.session.ending != nil)
    #expect(world.sent == 3)
  }

  @Test("T3: a 401 to a fresh token that has not worked yet bars the sync; once it worked, it is refreshed")
  func unproven() {
    var world = TokenWorld()
    _ = world.wanted()
    world.granted()
    world.wrote()
    var proven = world
    #expect(world.rejected(world.machine.generation).1 == .failed(.freshTokenRefused(.sample(.oauth2Refresh))))
    #expect(world.sent == 1)
    proven.machine.accepted(proven.machine.generation)
    #expect(proven.rejected(proven.machine.generation).1 == .waits)
    #expect(proven.sent == 2)
  }

  @Test(
    "T10: a credential that changes during a refresh or its storing wins over the answer", arguments: [false, true])
  func changedMeanwhile(storing: Bool) {
    var world = TokenWorld()
    let (waiter, _) = world.wanted()
    if storing { world.granted() }
    let files = Credentials(refreshToken: Secret("r9"), accessToken: Secret("a9"))
    world.filesAccess = files.accessToken
    world.cutShort { $0.credentialChanged(Session(.sample(.oauth2Refresh), files), now: Self.now) }
    #expect(world.released.isEmpty)
    if storing { world.wrote() } else { world.granted() }
    #expect(world.released[waiter] == .token(world.machine.token))
    #expect(world.machine.token?.access == Secret("a9"))
    #expect(world.machine.session.refreshToken == Secret("r9"))
  }
}
