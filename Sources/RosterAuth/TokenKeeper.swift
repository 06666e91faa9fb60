package import FoundationEssentials
package import Logging
package import RosterCore
import Synchronization

/// Holds the one session and performs what TokenMachine decides: sends the one token request, stores its answer, passes
/// tokens to requests. Requests wait for the keeper; the keeper never waits for a request.
package actor TokenKeeper {
  var machine: TokenMachine
  let store: TokenStore
  let send: Send
  let clock: WallClock
  let random: @Sendable () -> Double
  let report: EventSink
  let logger: Logger
  var status: TokenStatus

  let readCredentials: @Sendable (_ directory: String) throws -> Credentials
  private let onStatus: @Sendable (TokenStatus) -> Void
  private var isOpen = false
  private var pushed: TokenStatus?
  /// The last request whose answer showed that its token works.
  private var witness: Request?
  private let waiting = Waiters<Token?>()
  private let draining = Waiters<Void>()
  private var drains: [Waiters<Void>.ID] = []
  /// Calls that wait until no answer and no write is outstanding.
  private var settling: [Waiters<Void>.ID] = []
  /// The token request with all that follows from it. It belongs to the keeper, not to a request: no caller's
  /// cancellation reaches it. It is cancelled only while it waits to try again.
  private var work: Task<Void, Never>?
  private var workNumber = 0
  /// True for a dry run, which replaces no live session.
  private let isDryRun: Bool
  /// The time for which the token that is being stored may not be used yet.
  var waitOfStored = Duration.zero
  /// True if what renews is renewed without a sync too.
  private let renewsBetweenSyncs: Bool
  /// The wait for the next renewal. It belongs to the keeper, and ends with `drain`.
  private var renewal: Task<Void, Never>?
  /// The uptime at which that wait ends, and at which the last renewal began.
  private var renewalAt: Duration?
  private var lastRenewal: Duration?
  /// Signal handlers set it without waiting for the actor, which reads it before each token request.
  nonisolated let stopRequested = Atomic(false)

  /// `credentials` reads the files of a folder: at `open`, before each sync, and at a reload. `onStatus` is called at
  /// each change, in order; a state of `valid` there becomes `expired` by time alone. `random` gives numbers in 0..<1.
  /// If `isDryRun` is true, changed credential files do not replace a live session.
  package init(
    settings: TokenSettings, renewsBetweenSyncs: Bool = false, isDryRun: Bool = false,
    credentials: @escaping @Sendable (_ directory: String) throws -> Credentials,
    send: @escaping Send, clock: WallClock = .system, report: @escaping EventSink,
    onStatus: @escaping @Sendable (TokenStatus) -> Void, logger: Logger,
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    machine = TokenMachine(
      .init(settings: settings), session: Session(settings, credentials: Credentials()), now: clock.moment)
    self.isDryRun = isDryRun
    self.renewsBetweenSyncs = renewsBetweenSyncs
    readCredentials = credentials
    store = TokenStore(path: settings.storePath)
    self.send = send
    self.clock = clock
    self.report = report
    self.onStatus = onStatus
    self.logger = logger
    self.random = random
    status = TokenStatus(flow: settings.flow.rawValue)
  }

  // MARK: Configuration and syncs

  /// Opens the store at the start. Throws `Failure` 73 for an unusable store, and 78 for a missing credential.
  package func open() throws {
    try take(machine.settings, retry: false)
  }

  /// Reloads at SIGHUP, after the answer to the token request in flight; a running sync continues. Throws the errors of
  /// `open`, and then nothing has changed. The store keeps its path.
  package func reload(_ settings: TokenSettings) async throws {
    try await settle()
    try take(settings, retry: false)
    act { [now = clock.moment] in $0.newTokenDue(now) }
  }

  /// Looks for changed credentials, and stores first what could not be stored before. Throws `Failure` 77,
  /// without a request, while the session is ended; `retrySession` gives that one more try. Waits for a new token
  /// if a change of the settings or `newToken` asks for one.
  package func syncBegins(retrySession: Bool = false, newToken: Bool = false) async throws {
    try await settle()
    try take(machine.settings, retry: retrySession)
    if newToken { wantNewToken() }
    let waiter = waiting.open()
    _ = try await outcome(of: act { [now = clock.moment] in $0.syncBegan(waiter, now: now) }, for: waiter)
  }

  /// A request to retry the session joins the running sync. An ended session gets one more attempt now, and one
  /// that ends later in this sync gets it then.
  package func retrySession() {
    machine.requestRetry()
    pushStatus()
  }

  /// A request for a new token joins the running sync, whose requests use the old one meanwhile.
  package func requestNewToken() {
    wantNewToken()
    act { [now = clock.moment] in $0.newTokenDue(now) }
  }

  private func wantNewToken() {
    guard machine.settings.flow.refreshes else {
      return logger.notice("auth.flow = \"\(machine.settings.flow.rawValue)\" asks for no new token")
    }
    machine.wantNewToken()
  }

  /// Waits until no answer and no write of the session is outstanding: another one may take its place then. Stores
  /// first what could not be stored before, and throws the reason if it still cannot.
  private func settle() async throws {
    act { $0.storesAgain() }
    while machine.isInFlight {
      let id = draining.open()
      settling.append(id)
      try await draining.value(id)
    }
    if let failure = machine.storeFailure { throw failure }
  }

  private func take(_ settings: TokenSettings, retry: Bool) throws {
    let credentials = !settings.flow.sendsToken ? Credentials() : try readCredentials(settings.credentialsDirectory)
    let setup = TokenMachine.Setup(settings: settings, credentials: credentials)
    let known = isOpen ? machine.known(setup) : nil
    // A credential that the store does not know was the former one, not the changed one.
    let former = isOpen ? machine.setup : setup
    let stored = try known == nil && settings.flow.refreshes ? load(setup) : nil
    let current =
      known ?? (stored?.session ?? stored?.other)?.recording(former.settings, credentials: former.credentials)
    var change = try Session.change(
      from: current, newest: isOpen ? machine.session : nil, settings, credentials: credentials)
    if isDryRun, case .begin = change { try stored?.session?.expectEnded(settings, store: store) }
    if case .begin(let new) = change {
      change = .begin(try new.endedIfSpent(in: store, settings, credentials: credentials, at: clock.now()))
    }
    // Nothing throws from here on: what is refused changes nothing.
    isOpen = true
    var session = current ?? machine.session
    if case .begin(let new) = change { session = new }
    if known == nil { session.takePause(of: [machine.session, current].compactMap(\.self)) }
    let now = clock.moment
    act { $0.reconfigured(setup, session: session, now: now) }
    // A request with another token, or with one, says nothing about requests with this one, or without one.
    if !setup.settings.flow.refreshes { witness = nil }
    if change == .lift { machine.clearEnding() } else if retry { machine.beginTrial() }
    // Only the next sync shows whether upstream accepts requests without a session again.
    let stands = change == .none && settings.flow.sendsToken
    status.lastError = machine.failure?.description ?? (stands ? status.lastError : nil)
    pushStatus()
  }

  private func load(_ setup: TokenMachine.Setup) throws(Failure) -> TokenStore.Content {
    let binding = Session.Binding(setup.settings, credentials: setup.credentials)
    let content = try store.load(for: binding)
    if let other = content.other {
      logger.notice("\(store.path) \(other.binding.foreignText(to: binding, path: store.path(of: binding)))")
    }
    return content
  }

  // MARK: Requests

  /// The token to send now, after a refresh if one is needed; nil if the flow sends no token.
  /// Throws `Failure`, or CancellationError as soon as the caller is cancelled.
  package func current() async throws -> Token? {
    try Task.checkCancellation()
    let now = clock.moment
    // Nearly every request ends here; the full step costs as much as sending the request.
    if let token = machine.settledToken(at: now) { return token }
    let waiter = waiting.open()
    return try await outcome(of: act { $0.wanted(waiter, now: now) }, for: waiter)
  }

  /// The time for which the token may still be sent; nil if that is unknown.
  nonisolated package func remainingLife(of token: Token) -> Duration? {
    token.expiresAt == nil ? nil : token.remaining(clock.moment).map { .seconds(max(0, $0)) }
  }

  /// That request, with the token of that generation or without one, was answered in a way that shows that it was
  /// permitted.
  package func accepted(_ generation: Int?, by request: Request) {
    witness = request
    if let generation, machine.isNews(generation) { act { $0.accepted(generation) } }
  }

  /// Call this after an answer that refuses the token of a request. Returns what follows for the request. Throws the
  /// errors of `current`.
  package func rejected(_ refusal: TokenRefusal) async throws -> RefusedRequest {
    try Task.checkCancellation()
    var refusal = refusal
    refusal.hasWitness = witness != nil
    report(Event(.tokenRefused, reason: machine.isLate(refusal.generation) ? "late" : "current").withPage)
    let (waiter, now) = (waiting.open(), clock.moment)
    let action = act { [refusal] in $0.rejected(waiter, refusal, now: now) }
    switch action {
    case .use, .useAndRefresh:
      status.avoided += 1
      pushStatus()
      return .resend(try await outcome(of: action, for: waiter), isFresh: false, trial: nil)
    case .probe(let pause, let trial):
      waiting.close(waiter)
      return try await probe(after: pause, trial: trial)
    case .verify(let trial):
      waiting.close(waiter)
      guard let witness else { return .accept }
      return .verify(witness, trial: trial)
    case .blameList:
      waiting.close(waiter)
      return .accept
    default: return .resend(try await outcome(of: action, for: waiter), isFresh: true, trial: nil)
    }
  }

  private func probe(after pause: Duration, trial: Int) async throws -> RefusedRequest {
    do { try await clock.sleep(pause) } catch {
      trialEnded(trial)
      throw error
    }
    return .resend(machine.token, isFresh: true, trial: trial)
  }

  /// A request of the trial ended without an answer to its question.
  package func trialEnded(_ trial: Int) {
    act { $0.trialEnded(trial) }
  }

  /// All credentials that an answer may repeat, for `UpstreamWords`.
  package var secrets: [String] {
    (machine.setup.credentials.secrets + machine.session.secrets + machine.newest.secrets).map { $0.reveal() }
  }

  /// The refusals of this list are not about the token.
  package func blame(_ list: String) {
    machine.blame(list)
  }

  /// A page was answered with a status of `auth.logout_status`: ends the session, and returns the failure of the sync.
  package func endSession(status code: Int, generation: Int?) -> Failure {
    let failure = Failure.loggedOut(code, settings: machine.settings)
    let ending = Session.Ending(
      at: clock.now(), cause: failure.cause, file: machine.settings.credential.rawValue,
      tried: Session.tried(machine.settings, credentials: machine.setup.credentials))
    act { $0.loggedOut(generation, ending: ending) }
    note(machine.failure ?? failure)
    return failure
  }

  private func outcome(
    of action: TokenMachine.Action, for waiter: Waiters<Token?>.ID
  ) async throws -> Token? {
    switch action {
    case .wait, .refresh, .store: return try await wait(waiter)
    case .use(let token):
      waiting.close(waiter)
      return token
    case .useAndRefresh(let token, _):
      waiting.close(waiter)
      return token
    case .fail(let failure):
      waiting.close(waiter)
      note(failure)
      throw failure
    case .release(let release), .keep(_, let release):
      waiting.close(waiter)
      return try release.result.get()
    case .ignore, .send, .coolDown, .probe, .verify, .blameList:
      waiting.close(waiter)
      return nil
    }
  }

  private func wait(_ waiter: Waiters<Token?>.ID) async throws -> Token? {
    do {
      return try await waiting.value(waiter)
    } catch let error as CancellationError {
      machine.waiterCancelled(waiter)
      throw error
    }
  }

  /// The end of the session if it is before that time and nothing renews it earlier; nil otherwise.
  package func sessionEnd(before next: Date) -> Date? {
    guard !renewsBetweenSyncs, machine.settings.flow.refreshes, machine.session.ending == nil,
      let end = machine.session.renewal?.endsAt, end < next
    else { return nil }
    return end
  }

  // MARK: Shutdown

  /// No token request begins from now on; what is under way goes on. For signal handlers: `drain` does the rest.
  nonisolated package func stop() {
    stopRequested.store(true, ordering: .releasing)
  }

  /// Stops as `stop` does, and returns when the token request in flight is answered and stored. Returns false if the
  /// caller is cancelled first, which limits the wait. `rosterd sync` calls it too, because the end of a session
  /// may not be on disk yet.
  @discardableResult
  package func drain() async -> Bool {
    act { $0.stopped() }
    do {
      if work != nil {
        let id = draining.open()
        drains.append(id)
        try await draining.value(id)
      }
      if machine.storeFailure != nil {
        logger.error(
          "stopped with a new token that could not be stored: it is lost, and the session may be; \(machine.settings.mend(machine.settings.credential.rawValue))"
        )
      }
      return true
    } catch {
      logger.warning("stopped before the token request was answered and stored; \(machine.settings.mayHaveRotated)")
      if let session = machine.abandoned() { await keep(session) }
      return false
    }
  }

  /// True while a token request or its storing is in flight, which may outlive its sync.
  package var isBusy: Bool { work != nil }

  // MARK: Work

  /// Does what the machine decides. If the event ends the pause before an attempt, or replaces it, its task is
  /// cancelled. A request or a write is never cancelled.
  @discardableResult
  private func act(_ event: (inout TokenMachine) -> TokenMachine.Action) -> TokenMachine.Action {
    let wasWaiting = machine.isWaiting
    let action = event(&machine)
    let step = begin(action)
    if wasWaiting, step != nil || !machine.isWaiting {
      work?.cancel()
      work = nil
    }
    if let step {
      workNumber += 1
      let number = workNumber
      work = Task { await self.run(step, number: number) }
    }
    pushStatus()
    releaseSettling()
    return action
  }

  private func releaseSettling() {
    if machine.isInFlight { return }
    for id in settling { draining.settle(id, result: .success(())) }
    settling = []
  }

  private func run(_ first: Step, number: Int) async {
    var step: Step? = first
    while let current = step, !Task.isCancelled {
      let action = await perform(current)
      if Task.isCancelled { return }
      step = begin(action)
      pushStatus()
      releaseSettling()
    }
    guard number == workNumber else { return }
    work = nil
    for id in drains { draining.settle(id, result: .success(())) }
    drains = []
  }

  /// Does at once what needs no waiting, and returns the rest.
  private func begin(_ action: TokenMachine.Action) -> Step? {
    switch action {
    case .ignore, .use, .fail, .probe, .verify, .blameList: return nil
    case .wait:
      status.joined += 1
      report(Event(.tokenJoined).withPage)
      return nil
    case .refresh(let reason), .useAndRefresh(_, let reason):
      report(Event(.tokenRefreshing, reason: reason.rawValue).withPage)
      return .pause(.zero)
    case .coolDown(let delay): return .pause(delay)
    case .send(let attempt): return .send(attempt)
    case .store(let session): return .store(session)
    case .release(let release):
      resume(release)
      return nil
    case .keep(let session, let release):
      resume(release)
      return .keep(session)
    }
  }

  private func resume(_ release: TokenMachine.Release) {
    if case .failure(let failure) = release.result { note(failure) }
    for waiter in release.waiters { waiting.settle(waiter, result: release.result.mapError { $0 }) }
  }

  func note(_ failure: Failure) {
    status.lastError = failure.description
  }

  private static let minRenewalPause = Duration.seconds(300)

  /// Waits for the time at which what renews must be renewed, at most once in five minutes.
  private func scheduleRenewal() {
    guard renewsBetweenSyncs else { return }
    let now = clock.moment
    let isOver = stopRequested.load(ordering: .acquiring)
    let due = isOver ? nil : machine.renewal(now.date)
    let earliest = lastRenewal.map { $0 + Self.minRenewalPause } ?? .zero
    let at = due.map { max(now.uptime + .seconds($0.timeIntervalSince(now.date)), earliest) }
    // A millisecond is the precision of a stored time.
    if let at, let renewalAt, abs((at - renewalAt).seconds) < 0.01 { return }
    if at == nil, renewalAt == nil { return }
    renewal?.cancel()
    renewalAt = at
    renewal = at.map { at in
      Task { [clock] in
        do { try await clock.sleep(max(.zero, at - now.uptime)) } catch { return }
        self.renew()
      }
    }
  }

  private func renew() {
    (renewal, renewalAt, lastRenewal) = (nil, nil, clock.uptime())
    act { [now = clock.moment] in $0.renewalDue(now) }
  }

  private func pushStatus() {
    scheduleRenewal()
    var now = status
    now.flow = machine.settings.flow.rawValue
    now.state = machine.state(clock.moment)
    now.expiresAt = machine.token?.expiresAt?.rfc3339
    guard now != pushed else { return }
    status = now
    pushed = now
    onStatus(now)
  }
}
