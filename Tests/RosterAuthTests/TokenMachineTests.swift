import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

/// Every state × every event: what the machine asks for, and where it goes.
struct TokenMachineTests {
  enum State: String, CaseIterable {
    case empty, valid, due, expired, waiting, refreshing, refreshingEarly, coolingDown, storing, keeping, unstored,
      barred, ended, brandNew, proving, askingAnew
  }

  enum Input: String, CaseIterable {
    case wanted, rejectedCurrent, rejectedLate, triedAgain, accepted, loggedOut, refreshed, passingAgain, passingLast,
      refused,
      postponed, unexplained, other, due, stored, storeFailed, storesAgain, syncBegan, credentialChanged, reconfigured,
      switchedOff, stopped, newToken
  }

  private static let start = Date(timeIntervalSince1970: 1_700_000_000)
  private static let now = ClockReading(date: start, uptime: .zero)
  private static let failure = TokenMachine.Fault.failure

  /// Generation 2, so that 1 is late.
  private static func machine(_ state: State) -> TokenMachine {
    switch state {
    case .empty: return TokenMachine(setup(), session: session(nil), now: now)
    case .valid: return settledMachine(life: 3600)
    case .due: return settledMachine(life: 30)
    case .expired: return settledMachine(life: 0)
    case .waiting: return after(.empty) { _ = $0.wanted(9, now: now) }
    case .refreshing: return after(.waiting) { _ = $0.due(now: now) }
    case .refreshingEarly:
      return after(.due) {
        _ = $0.wanted(9, now: now)
        _ = $0.due(now: now)
      }
    case .askingAnew:
      return after(.valid) {
        _ = feed(.newToken, machine: &$0)
        _ = $0.due(now: now)
      }
    case .coolingDown: return after(.refreshing) { _ = $0.refreshFailed(.passing(again: true), now: now) }
    case .storing: return after(.refreshing) { _ = $0.refreshed(answer) }
    case .keeping: return after(.refreshing) { _ = $0.refreshFailed(.other(failure), now: now) }
    case .brandNew: return after(.storing) { _ = $0.stored(now: now) }
    case .proving: return after(.brandNew) { _ = $0.rejected(9, TokenRefusal(generation: $0.generation), now: now) }
    case .unstored: return after(.storing) { _ = $0.storeFailed(failure, now: now) }
    case .barred:
      return after(.refreshing) {
        _ = $0.refreshFailed(.other(failure), now: now)
        _ = $0.stored(now: now)
      }
    case .ended:
      return after(.refreshing) {
        _ = $0.refreshFailed(.refused(.init(at: start, cause: "c", file: "f", tried: "d")), now: now)
        _ = $0.stored(now: now)
      }
    }
  }

  private static func after(_ state: State, change: (inout TokenMachine) -> Void) -> TokenMachine {
    var machine = machine(state)
    change(&machine)
    return machine
  }

  private static func settledMachine(life: Double) -> TokenMachine {
    var machine = TokenMachine(setup(), session: session(nil), now: now)
    _ = machine.reconfigured(setup(), session: session(start + life), now: now)
    return machine
  }

  private static func setup(_ flow: Flow = .oauth2Refresh) -> TokenMachine.Setup {
    .init(settings: .sample(flow))
  }

  private static func session(_ expiry: Date?) -> Session {
    var session = Session(.sample(.oauth2Refresh), credentials: Credentials(refreshToken: Secret("r0")))
    session.standing = expiry.map { .token(IssuedToken(access: Secret("a"), expiresAt: $0)) } ?? .absent
    return session
  }

  private static let answer = GrantAnswer(issued: IssuedToken(access: Secret("b")), refreshToken: Secret("r1"))

  private static func feed(_ input: Input, machine: inout TokenMachine) -> TokenMachine.Action {
    switch input {
    case .wanted: machine.wanted(1, now: now)
    case .rejectedCurrent: machine.rejected(1, TokenRefusal(generation: machine.generation), now: now)
    case .rejectedLate: machine.rejected(1, TokenRefusal(generation: machine.generation - 1), now: now)
    case .triedAgain: triedAgain(&machine)
    case .accepted: machine.accepted(machine.generation)
    case .loggedOut: machine.loggedOut(machine.generation, ending: .init(at: start, cause: "c", file: "f", tried: "d"))
    case .refreshed: machine.refreshed(answer)
    case .passingAgain: machine.refreshFailed(.passing(again: true), now: now)
    case .passingLast: machine.refreshFailed(.passing(again: false), now: now)
    case .refused: machine.refreshFailed(.refused(TokenMachine.Fault.ending), now: now)
    case .postponed: machine.refreshFailed(.postponed(failure), now: now)
    case .unexplained: machine.refreshFailed(.unexplained(failure), now: now)
    case .other: machine.refreshFailed(.other(failure), now: now)
    case .due: machine.due(now: now)
    case .stored: machine.stored(now: now)
    case .storeFailed: machine.storeFailed(failure, now: now)
    case .storesAgain: machine.storesAgain()
    case .syncBegan: machine.syncBegan(1, now: now)
    case .credentialChanged: machine.reconfigured(setup(), session: session(start + 1800), now: now)
    case .reconfigured: machine.reconfigured(setup(), session: machine.session, now: now)
    case .switchedOff:
      machine.reconfigured(setup(.none), session: Session(.sample(.none), credentials: Credentials()), now: now)
    case .stopped: machine.stopped()
    case .newToken: newToken(&machine)
    }
  }

  /// A user asks for a new token.
  private static func newToken(_ machine: inout TokenMachine) -> TokenMachine.Action {
    machine.wantNewToken()
    return machine.newTokenDue(now)
  }

  /// The request that tries a brand-new token is refused once more.
  private static func triedAgain(_ machine: inout TokenMachine) -> TokenMachine.Action {
    var refusal = TokenRefusal(generation: machine.generation)
    refusal.trial = 9
    return machine.trial == nil ? .ignore : machine.rejected(1, refusal, now: now)
  }

  /// One word for the action, one for the phase after it.
  private static func cell(_ state: State, input: Input) -> String {
    var machine = machine(state)
    let action = String("\(feed(input, machine: &machine))".prefix { $0 != "(" })
    return "\(action)/\(name(machine.phase))"
  }

  private static func name(_ phase: TokenMachine.Phase) -> String {
    switch phase {
    case .idle: "idle"
    case .unstored: "unstored"
    case .busy(let work, _): String("\(work)".prefix { $0 != "(" })
    }
  }

  /// "action/phase after it" and the events that lead there. Other events are ignored and do not change the phase.
  private static let table: [State: [String: [Input]]] = [
    .empty: [
      "refresh/waiting": [.wanted, .rejectedCurrent, .rejectedLate],
      "keep/keeping": [.loggedOut],
    ],
    .valid: [
      "use/idle": [.wanted, .rejectedLate],
      "refresh/waiting": [.rejectedCurrent, .newToken],
      "keep/keeping": [.loggedOut],
    ],
    .due: [
      "useAndRefresh/waiting": [.wanted, .rejectedLate],
      "refresh/waiting": [.rejectedCurrent, .newToken],
      "keep/keeping": [.loggedOut],
    ],
    .expired: [
      "refresh/waiting": [.wanted, .rejectedCurrent, .rejectedLate],
      "keep/keeping": [.loggedOut],
    ],
    .waiting: [
      "wait/waiting": [.wanted, .rejectedCurrent, .rejectedLate],
      "keep/keeping": [.loggedOut],
      "send/sending": [.due],
      "release/idle": [.credentialChanged, .switchedOff, .stopped],
    ],
    .refreshing: [
      "wait/sending": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/sending": [.loggedOut],
      "store/storing": [.refreshed],
      "coolDown/waiting": [.passingAgain],
      "keep/keeping": [.passingLast, .refused, .postponed, .unexplained, .other],
    ],
    .refreshingEarly: [
      "use/sending": [.wanted, .rejectedLate],
      "wait/sending": [.rejectedCurrent],
      "release/sending": [.loggedOut],
      "store/storing": [.refreshed],
      "coolDown/waiting": [.passingAgain],
      "keep/keeping": [.passingLast, .refused, .postponed, .unexplained, .other],
    ],
    .askingAnew: [
      "use/sending": [.wanted, .rejectedLate],
      "wait/sending": [.rejectedCurrent, .syncBegan],
      "release/sending": [.loggedOut],
      "store/storing": [.refreshed],
      "coolDown/waiting": [.passingAgain],
      "keep/keeping": [.passingLast, .refused, .postponed, .unexplained, .other],
    ],
    .coolingDown: [
      "wait/waiting": [.wanted, .rejectedCurrent, .rejectedLate],
      "keep/keeping": [.loggedOut, .stopped, .credentialChanged, .switchedOff],
      "send/sending": [.due],
    ],
    .storing: [
      "wait/storing": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/storing": [.loggedOut],
      "release/idle": [.stored],
      "release/unstored": [.storeFailed],
    ],
    .keeping: [
      "fail/keeping": [.wanted, .rejectedCurrent, .rejectedLate],
      "release/keeping": [.loggedOut],
      "ignore/idle": [.stored, .storeFailed],
    ],
    .unstored: [
      "fail/unstored": [.wanted, .rejectedCurrent, .rejectedLate, .syncBegan],
      "release/unstored": [.loggedOut],
      "store/storing": [.storesAgain, .stopped],
    ],
    .barred: [
      "fail/idle": [.wanted, .rejectedCurrent, .rejectedLate],
      "keep/keeping": [.loggedOut],
    ],
    .brandNew: [
      "use/idle": [.wanted, .rejectedLate],
      "probe/proving": [.rejectedCurrent],
      "refresh/waiting": [.newToken],
      "keep/keeping": [.loggedOut],
    ],
    .proving: [
      "wait/proving": [.wanted, .rejectedCurrent, .rejectedLate],
      "probe/proving": [.triedAgain],
      "release/idle": [.accepted, .stopped],
      "ignore/idle": [.credentialChanged, .switchedOff],
      "keep/keeping": [.loggedOut],
    ],
    .ended: [
      "fail/idle": [.wanted, .rejectedCurrent, .rejectedLate, .syncBegan]
    ],
  ]

  @Test(
    "Every event in every state causes the action of the table, and none if the table has none",
    arguments: State.allCases)
  func row(state: State) throws {
    let row = try #require(Self.table[state])
    let unmoved = "ignore/\(Self.name(Self.machine(state).phase))"
    for input in Input.allCases {
      let expected = row.first { $0.value.contains(input) }?.key ?? unmoved
      #expect(Self.cell(state, input: input) == expected, "\(state) × \(input)")
    }
  }

  @Test("32: after an attempt without an answer the token may have been rotated; a granted token ends the doubt")
  func unanswered() {
    var machine = Self.machine(.refreshing)
    _ = machine.refreshFailed(.passing(again: true, .lost), now: Self.now)
    _ = machine.due(now: Self.now)
    #expect(machine.session.isUnanswered)
    _ = machine.refreshFailed(.passing(again: true), now: Self.now)
    _ = machine.due(now: Self.now)
    #expect(machine.session.isUnanswered)
    _ = machine.refreshed(Self.answer)
    _ = machine.stored(now: Self.now)
    #expect(!machine.session.isUnanswered)
  }

  @Test("30: a token is settled exactly if a request gets it without another action", arguments: State.allCases)
  func settled(state: State) {
    var machine = Self.machine(state)
    let before = machine
    let settled = machine.settledToken(at: Self.now)
    let action = machine.wanted(1, now: Self.now)
    if let token = settled {
      #expect(action == .use(token) && machine == before)
    } else if case .use(let token) = action {
      Issue.record("\(state): a request gets \(token == nil ? "no token" : "a token"), but none is settled")
    }
  }
}
