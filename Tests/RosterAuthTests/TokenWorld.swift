import FoundationEssentials
import RosterModel
import Testing

@testable import RosterAuth

/// The machine with everything that it commands reduced to flags: does what it asks, and asserts at each step what must
/// hold in every reachable state (design 3).
struct TokenWorld: Equatable {
  enum Outcome: Equatable {
    case token(Token?)
    case failed(Failure)
    case waits
  }

  var machine: TokenMachine
  var now = Date(timeIntervalSince1970: 1_700_000_000)
  var isSending = false
  var writing: Session?
  var isCoolingDown = false
  /// What a restart would find; the files stand in for it at first.
  var disk: Session?
  /// The access token in the credential files, which is on disk too.
  var filesAccess: Secret?
  var waiting: Set<Int> = []
  var released: [Int: Outcome] = [:]
  var sent = 0
  private var lastWaiter = 0
  private var minted = 0

  init(_ flow: Flow = .oauth2Refresh, access: String? = nil, life: Double? = nil) {
    let files = Credentials(
      refreshToken: Secret("r0"), accessToken: access.map { Secret($0) }, clientID: Secret("id"),
      clientSecret: Secret("s"))
    let settings = TokenSettings.sample(flow)
    var session = Session(settings, files)
    let start = now
    session.access?.expiresAt = life.map { start + $0 }
    machine = TokenMachine(settings, session)
    disk = session
  }

  // MARK: Events

  mutating func wanted() -> (Int, Outcome) { request { $0.wanted($1, now: $2) } }

  mutating func rejected(_ generation: Int?) -> (Int, Outcome) { request { $0.rejected($1, generation, now: $2) } }

  mutating func syncBegan() -> (Int, Outcome) { request { machine, waiter, _ in machine.syncBegan(waiter) } }

  mutating func cancel(_ waiter: Int) {
    machine.waiterCancelled(waiter)
    waiting.remove(waiter)
  }

  mutating func granted(rotates: Bool = true, life: Double? = nil) {
    isSending = false
    minted += 1
    let issued = IssuedToken(access: Secret("a\(minted)"), obtainedAt: now, expiresAt: life.map { now + $0 })
    run(machine.refreshed(GrantAnswer(issued: issued, refreshToken: rotates ? Secret("r\(minted)") : nil), now: now))
  }

  mutating func failed(_ fault: TokenMachine.Fault) {
    isSending = false
    run(machine.refreshFailed(fault, now: now))
  }

  mutating func wrote() {
    disk = writing
    writing = nil
    run(machine.stored(now: now))
  }

  mutating func writeFailed() {
    writing = nil
    run(machine.storeFailed(.store("write", "f", cause: "full"), now: now))
  }

  mutating func due() {
    isCoolingDown = false
    run(machine.due())
  }

  /// What the keeper runs through `cutShort`.
  mutating func cutShort(_ event: (inout TokenMachine) -> TokenMachine.Action) {
    let action = event(&machine)
    if !machine.isCoolingDown { isCoolingDown = false }
    run(action)
  }

  mutating func refusedAgain(_ generation: Int?) { run(machine.refusedAgain(generation)) }

  // MARK: Effects

  private mutating func request(
    _ event: (inout TokenMachine, Int, Date) -> TokenMachine.Action
  ) -> (Int, Outcome) {
    lastWaiter += 1
    let waiter = lastWaiter
    let action = event(&machine, waiter, now)
    let outcome: Outcome
    switch action {
    case .wait, .refresh, .store:
      waiting.insert(waiter)
      outcome = .waits
    case .use(let token): outcome = .token(token)
    case .useAndRefresh(let token, _): outcome = .token(token)
    case .fail(let failure): outcome = .failed(failure)
    case .release(let release), .keep(_, let release):
      #expect(!release.waiters.contains(waiter), "a caller that is answered does not wait too")
      outcome = Outcome(release.result)
    case .ignore: outcome = .token(nil)
    case .send, .coolDown:
      Issue.record("a request is told to \(action)")
      outcome = .token(nil)
    }
    if case .token(let token?) = outcome {
      checkUsable(token)
      #expect(!token.isExpired(now), "T2: no request is sent with a token known to be expired")
    }
    run(action)
    return (waiter, outcome)
  }

  private mutating func run(_ action: TokenMachine.Action) {
    switch action {
    case .ignore, .use, .wait, .fail: break
    case .refresh, .useAndRefresh, .send: startSending()
    case .coolDown:
      #expect(!isBusy)
      isCoolingDown = true
    case .store(let session): startWriting(session)
    case .release(let release): self.release(release)
    case .keep(let session, let release):
      self.release(release)
      startWriting(session)
    }
    check()
  }

  private var isBusy: Bool { isSending || writing != nil || isCoolingDown }

  private mutating func startSending() {
    #expect(!isBusy, "T1: never two at once")
    #expect(machine.session.ending == nil, "T6: an ended session sends nothing")
    isSending = true
    sent += 1
  }

  private mutating func startWriting(_ session: Session) {
    #expect(!isBusy)
    writing = session
  }

  private mutating func release(_ release: TokenMachine.Release) {
    for waiter in release.waiters {
      #expect(waiting.remove(waiter) != nil, "each waiter is resumed once")
      released[waiter] = Outcome(release.result)
      if case .success(let token?) = release.result { checkUsable(token) }
    }
  }

  private func checkUsable(_ token: Token) {
    #expect(
      token.access == disk?.access?.access || token.access == filesAccess,
      "T4: no request uses a token that is not on disk")
  }

  private func check() {
    #expect(Set(machine.waiters) == waiting)
    #expect(machine.waiters.count == waiting.count)
    #expect(waiting.isEmpty || isBusy, "nobody waits for nothing")
    switch machine.phase {
    case .idle, .unstored: #expect(!isBusy)
    case .refreshing: #expect(isSending)
    case .coolingDown: #expect(isCoolingDown)
    case .storing, .keeping: #expect(writing != nil)
    }
  }
}

extension TokenWorld.Outcome {
  init(_ result: Result<Token?, Failure>) {
    switch result {
    case .success(let token): self = .token(token)
    case .failure(let failure): self = .failed(failure)
    }
  }
}

extension TokenMachine.Fault {
  static let failure = Failure(.unreachable, step: "send", subject: "t", cause: "test")
  static let ending = Session.Ending(
    at: Date(timeIntervalSince1970: 0), cause: "refused", file: "refresh_token", tried: "d")

  static func passing(again: Bool, answered: Bool = true) -> Self {
    .passing(failure, delay: again ? .seconds(1) : nil, answered: answered)
  }
}
