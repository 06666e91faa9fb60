import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

/// The machine, with its surroundings reduced to flags. It performs the machine's actions, and asserts after each step
/// the invariants of every reachable state.
struct TokenWorld: Equatable {
  enum Outcome: Equatable {
    case token(Token?)
    case failed(Failure)
    case waits
    /// The request tries a brand-new token again, or a request that had succeeded.
    case probes(Int)
    case verifies(Int)
    /// Its answer counts.
    case blamed
  }

  var machine: TokenMachine
  var now = ClockReading(date: Date(timeIntervalSince1970: 1_700_000_000), uptime: .zero)
  private(set) var isWaiting = false
  private(set) var sending: TokenMachine.Attempt?
  private(set) var writing: Session?
  /// The session that a restart would read.
  private(set) var disk: Session?
  private(set) var files: Credentials
  /// The access tokens that the credential files have held, which are on disk too.
  private var filesAccess: Set<Secret> = []
  /// Refresh tokens whose successor was granted, each with its flow.
  private var spent: Set<String> = []
  var waiting: Set<Int> = []
  var released: [Int: Outcome] = [:]
  private(set) var sent = 0
  private(set) var isStopped = false
  private var lastWaiter = 0
  /// Number of token requests that may have reached upstream since the last token in this sync, by their kind.
  private var arrived: [String: Int] = [:]
  private var minted = 0
  /// Events that wait until no answer and no write is outstanding.
  private(set) var deferred: [Deferred] = []

  enum Deferred: Equatable {
    case reload(Flow, Credentials, scope: String?)
    case sync(Int)

    var name: String {
      switch self {
      case .reload(let flow, let files, _): "\(flow) \(files.refreshToken?.reveal() ?? "-")"
      case .sync: "sync"
      }
    }
  }

  init(_ flow: Flow = .oauth2Refresh, access: String? = nil, life: Double? = nil) {
    files = Credentials(
      refreshToken: Secret("r0"), accessToken: access.map { Secret($0) }, clientID: Secret("id"),
      clientSecret: Secret("s"), username: Secret("user"), password: Secret("word"))
    let settings = TokenSettings.sample(flow)
    var session = Session(settings, credentials: files)
    if let life, let access = session.access?.access {
      session.standing = .token(IssuedToken(access: access, expiresAt: now.date + life))
    }
    machine = TokenMachine(.init(settings: settings, credentials: files), session: session, now: now)
    note(files)
  }

  /// A world whose first token request is under way, after a 401 to this access token if there is one.
  static func refreshing(after access: String? = nil) -> TokenWorld {
    var world = TokenWorld(access: access)
    _ = access == nil ? world.wanted() : world.rejected(1)
    world.due()
    return world
  }

  var isSending: Bool { sending != nil }
  var isBusy: Bool { isSending || writing != nil || isWaiting }

  // MARK: Events

  mutating func pass(_ seconds: Double) {
    now.date += seconds
    now.uptime += .seconds(seconds)
  }

  mutating func wanted() -> (Int, Outcome) { request { $0.wanted($1, now: $2) } }

  mutating func rejected(
    _ generation: Int?, list: String = "items", isFresh: Bool = false, trial: Int? = nil, hasWitness: Bool = false
  ) -> (Int, Outcome) {
    var refusal = TokenRefusal(generation: generation, list: list)
    (refusal.isFresh, refusal.trial, refusal.hasWitness) = (isFresh, trial, hasWitness)
    return request { [refusal] in $0.rejected($1, refusal, now: $2) }
  }

  mutating func accepted(_ generation: Int) { act { machine, _ in machine.accepted(generation) } }

  mutating func trialEnded(_ trial: Int) { act { machine, _ in machine.trialEnded(trial) } }

  mutating func syncBegan() -> (Int, Outcome) {
    lastWaiter += 1
    let waiter = lastWaiter
    settle(.sync(waiter))
    return (waiter, released.removeValue(forKey: waiter) ?? .waits)
  }

  /// As the keeper does it: at once, or when no answer and no write is outstanding.
  private mutating func settle(_ event: Deferred) {
    deferred.append(event)
    act { machine, _ in machine.storesAgain() }
  }

  private mutating func takeDeferred() {
    while !machine.isInFlight, !deferred.isEmpty {
      switch (deferred.removeFirst(), machine.storeFailure) {
      case (.reload(let flow, let files, let scope), nil): take(flow, files: files, scope: scope)
      // It is refused.
      case (.reload, _?): break
      case (.sync(let waiter), nil):
        arrived = [:]
        let outcome = outcome(waiter) { $0.syncBegan($1, now: $2) }
        if outcome != .waits { released[waiter] = outcome }
      case (.sync(let waiter), let failure?): released[waiter] = .failed(failure)
      }
    }
  }

  mutating func cancel(_ waiter: Int) {
    machine.waiterCancelled(waiter)
    waiting.remove(waiter)
  }

  mutating func due() {
    isWaiting = false
    act { machine, now in machine.due(now: now) }
  }

  mutating func granted(rotates: Bool = true, life: Double? = nil) {
    guard let attempt = sending else { return }
    sending = nil
    minted += 1
    arrived = [:]
    let renews = attempt.setup.settings.flow == .bearerRenew
    if rotates || renews, let name = attempt.tokenName { spent.insert(name) }
    let issued = IssuedToken(access: Secret("a\(minted)"), obtainedAt: now.date, expiresAt: life.map { now.date + $0 })
    let answer = GrantAnswer(
      issued: issued, refreshToken: renews ? issued.access : rotates ? Secret("r\(minted)") : nil)
    act { machine, _ in machine.refreshed(answer) }
    #expect(writing?.refreshToken == answer.refreshToken ?? attempt.session.refreshToken, "32: every answer is stored")
  }

  /// The answer of the token endpoint, as the keeper passes it on.
  mutating func answered(_ answer: Result<Response, Failure>) {
    guard let attempt = sending, let grant = Grant(attempt.setup.settings, session: attempt.session) else { return }
    let attempted = RefreshAttempt(attempt, now: now.date, random: 0)
    switch answer {
    case .success(let response):
      let refusal = #expect(throws: GrantRefusal.self) { try grant.read(response, now: now.date) }
      if let refusal { failed(attempted.fault(refusal).fault) }
    case .failure(let fault): failed(attempted.fault(fault).fault)
    }
  }

  mutating func requestRetry() {
    arrived = [:]
    machine.requestRetry()
  }

  mutating func failed(_ fault: TokenMachine.Fault) {
    if let sending, !fault.isUnsent { arrived[sending.kind, default: 0] += 1 }
    // A user asked for one more attempt.
    if machine.sync.mayRetry, fault.isStatement { arrived = [:] }
    // A session that upstream ended while the request was under way begins no login.
    let isLive = machine.session.ending == nil
    let wasRefresh = sending.map { $0.setup == machine.setup && $0.tokenName != nil } ?? false
    let wasEarly = sending?.isEarly ?? false
    let hadEnded = machine.onTrial != nil || machine.session.ending != nil
    sending = nil
    act { $0.refreshFailed(fault, now: $1) }
    if !hadEnded, machine.session.ending != nil {
      #expect(fault.isStatement, "33: a session ends only by a statement about its grant or its client")
      #expect(!wasEarly, "30: a refused early refresh ends no session")
    }
    if fault.isFollowedByLogin, wasRefresh, isLive, !wasEarly, machine.settings.flow == .exchange, !isStopped {
      #expect(sending != nil || machine.session.ending == nil, "36: a login follows a refused refresh")
    }
  }

  mutating func wrote() {
    disk = writing
    writing = nil
    act { $0.stored(now: $1) }
  }

  mutating func writeFailed() {
    writing = nil
    act { $0.storeFailed(.store("write", path: "f", cause: "full"), now: $1) }
  }

  /// Reads the configuration and the credential files as the keeper does, at SIGHUP and before each sync.
  mutating func reload(_ flow: Flow, files: Credentials, scope: String? = nil) {
    self.files = files
    settle(.reload(flow, files, scope: scope))
  }

  private mutating func take(_ flow: Flow, files: Credentials, scope: String?) {
    note(files)
    arrived = [:]
    var settings = TokenSettings.sample(flow)
    settings.scope = scope ?? machine.settings.scope
    let setup = TokenMachine.Setup(settings: settings, credentials: flow == .none ? Credentials() : files)
    let current = machine.known(setup) ?? (flow.refreshes ? disk : nil)
    guard
      let change = try? Session.change(
        from: current, newest: machine.newest, setup.settings, credentials: setup.credentials)
    else { return }
    var session = current ?? machine.session
    if case .begin(let new) = change { session = new }
    act { $0.reconfigured(setup, session: session, now: $1) }
    if change == .lift { machine.clearEnding() }
    act { $0.newTokenDue($1) }
  }

  /// A user asks for a new token.
  mutating func requestNewToken() {
    arrived = [:]
    machine.wantNewToken()
    act { $0.newTokenDue($1) }
  }

  mutating func stop() {
    isStopped = true
    act { machine, _ in machine.stopped() }
  }

  mutating func abandon() { _ = machine.abandoned() }

  mutating func loggedOut(_ generation: Int?) {
    act { machine, _ in machine.loggedOut(generation, ending: TokenMachine.Fault.ending) }
  }

  // MARK: Effects

  private mutating func note(_ files: Credentials) {
    if let access = files.accessToken { filesAccess.insert(access) }
  }

  private mutating func act(_ event: (inout TokenMachine, ClockReading) -> TokenMachine.Action) {
    let action = event(&machine, now)
    // The keeper cuts the wait short.
    if !machine.isWaiting || action.beginsWork { isWaiting = false }
    run(action)
    takeDeferred()
  }

  private mutating func request(
    _ event: (inout TokenMachine, Int, ClockReading) -> TokenMachine.Action
  ) -> (Int, Outcome) {
    lastWaiter += 1
    let waiter = lastWaiter
    let outcome = outcome(waiter, event)
    takeDeferred()
    return (waiter, outcome)
  }

  private mutating func outcome(
    _ waiter: Int, _ event: (inout TokenMachine, Int, ClockReading) -> TokenMachine.Action
  ) -> Outcome {
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
    case .probe(_, let trial): outcome = .probes(trial)
    case .verify(let trial): outcome = .verifies(trial)
    case .blameList: outcome = .blamed
    case .send, .coolDown:
      Issue.record("a request got the action \(action)")
      outcome = .token(nil)
    }
    if case .token(let token?) = outcome {
      checkUsable(token)
      #expect(!token.isExpired(now), "30: no request is sent with a token known to be expired")
    }
    run(action)
    return outcome
  }

  private mutating func run(_ action: TokenMachine.Action) {
    switch action {
    case .ignore, .use, .wait, .fail, .probe, .verify, .blameList: break
    case .refresh, .useAndRefresh, .coolDown:
      #expect(!isBusy)
      isWaiting = true
    case .send(let attempt): startSending(attempt)
    case .store(let session): startWriting(session)
    case .release(let release): self.release(release)
    case .keep(let session, let release):
      self.release(release)
      startWriting(session)
    }
    check()
  }

  private mutating func startSending(_ attempt: TokenMachine.Attempt) {
    #expect(!isBusy, "29: never two at once")
    #expect(!isStopped, "41: no token request begins after a stop")
    #expect(arrived[attempt.kind, default: 0] < 2, "32: a third token request for one expiry")
    #expect(attempt.session.ending == nil, "33: an ended session sends nothing")
    #expect(attempt.session == machine.session && attempt.setup == machine.setup)
    if let name = attempt.tokenName {
      #expect(!spent.contains(name), "31: no refresh token is sent whose successor was granted")
    } else {
      #expect(attempt.setup.settings.flow == .oauth2ClientCredentials || attempt.session.logsIn(attempt.setup.settings))
    }
    sending = attempt
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
      token.access == disk?.access?.access || filesAccess.contains(token.access),
      "31: no request uses a token that is not on disk")
    #expect(
      machine.session.binding.flow == machine.settings.flow.rawValue,
      "39: a token belongs to the flow that it was got for")
  }

  private func check() {
    #expect(Set(machine.waiters) == waiting)
    #expect(machine.waiters.count == waiting.count)
    #expect(waiting.isEmpty || isBusy || machine.trial != nil, "a request waits although no work is in flight")
    switch machine.phase {
    case .idle, .unstored: #expect(!isBusy)
    case .busy(.waiting, _): #expect(isWaiting)
    case .busy(.proving, _): #expect(!isBusy && !isWaiting)
    case .busy(.sending(let attempt), _): #expect(sending == attempt)
    case .busy(.storing(let session), _), .busy(.keeping(let session), _): #expect(writing == session)
    }
  }
}

extension TokenMachine.Attempt {
  /// Early ones, refreshes and logins are counted apart.
  fileprivate var kind: String { "\(isEarly) \(session.refreshToken != nil)" }

  /// nil: it goes without a refresh token.
  fileprivate var tokenName: String? {
    session.refreshToken.map { "\(session.binding.flow) \($0.reveal())" }
  }
}

extension TokenMachine.Action {
  fileprivate var beginsWork: Bool {
    switch self {
    case .refresh, .useAndRefresh, .coolDown, .send, .store, .keep: true
    case .ignore, .use, .wait, .release, .fail, .probe, .verify, .blameList: false
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

extension TokenMachine {
  /// The trial of a brand-new token; nil without one.
  var trial: Int? {
    if case .busy(.proving(let trial), _) = phase { trial.id } else { nil }
  }
}

extension TokenMachine.Fault {
  var isUnsent: Bool {
    if case .passing(_, _, .unsent) = self { true } else { false }
  }

  var isStatement: Bool {
    if case .refused = self { true } else { false }
  }

  static let failure = Failure(.unreachable, step: "send", subject: "t", cause: "test")
  static let ending = Session.Ending(
    at: Date(timeIntervalSince1970: 0), cause: "refused", file: "refresh_token", tried: "d")

  /// True if a login follows where one is possible.
  var isFollowedByLogin: Bool {
    switch self {
    case .refused, .unexplained: true
    case .passing, .postponed, .other: false
    }
  }

  static func passing(again: Bool, _ delivery: TokenMachine.Delivery = .answered) -> Self {
    .passing(failure, delay: again ? .seconds(1) : nil, delivery: delivery)
  }
}
