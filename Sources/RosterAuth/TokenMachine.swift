import FoundationEssentials
import RosterCore

/// Decides what happens to the tokens; TokenKeeper performs it. A value with one method for each event, which returns
/// the action.
///
/// At most one token request or write is in flight (`phase`). A request gets a token only after its session is stored.
struct TokenMachine: Sendable, Equatable {
  typealias Waiter = Int

  private(set) var setup: Setup
  /// The session that serves requests.
  private(set) var session: Session
  private(set) var phase = Phase.idle
  private(set) var sync = SyncFacts()
  private(set) var generation = 0
  /// The first generation of this session. The answer to a request with an older one says nothing about this session.
  private var firstGeneration = 1
  /// The reason for which the session had ended, while it is tried once more; nil otherwise.
  private(set) var onTrial: Session.Ending?
  /// The generation whose early refresh failed in passing: it is refreshed at its end.
  private(set) var unhurried: Int?
  /// The generation of a token that cannot be replaced, and that upstream refused after its end.
  private(set) var outlived: Int?
  private(set) var isStopping = false
  /// Whether a new access token is asked for although the current one is valid.
  private(set) var newToken = NewToken.unwanted

  init(_ setup: Setup, session: Session, now: ClockReading) {
    self.setup = setup
    self.session = session
    takeToken(now)
  }

  // MARK: Requests

  mutating func wanted(_ waiter: Waiter, now: ClockReading) -> Action {
    switch answer(now) {
    case nil: return join(waiter)
    case .failure(let failure): return .fail(failure)
    case .success(let token):
      guard let token, needsEarlyRefresh(token, now: now) else { return .use(token) }
      phase = .busy(.waiting(.first), Sequel())
      return .useAndRefresh(token, newToken == .wanted ? .requested : .expired)
    }
  }

  /// The token to send now, if nothing else has to be done for it. The outer nil means that `wanted` decides, the inner
  /// nil that the flow sends no token. Mutating, because the keeper would otherwise copy the machine for each request.
  mutating func settledToken(at now: ClockReading) -> Token?? {
    if !setup.settings.flow.sendsToken { return .some(nil) }
    guard case .success(let token) = answer(now) else { return nil }
    if let token, needsEarlyRefresh(token, now: now) { return nil }
    return .some(token)
  }

  /// An answer that refuses the token of a request: a 401, or one that `auth.expired` names. If the token is older than
  /// the current one, the request is sent again with the current one.
  mutating func rejected(_ waiter: Waiter, _ refusal: TokenRefusal, now: ClockReading) -> Action {
    if case .busy(.proving(let trial), let sequel) = phase, trial.id == refusal.trial, !isLate(refusal.generation) {
      return refusedAgain(trial, refusal: refusal, sequel: sequel)
    }
    if let failure { return .fail(failure) }
    if isLate(refusal.generation), !settings.flow.sendsToken || token != nil { return wanted(waiter, now: now) }
    guard settings.flow.sendsToken else {
      // Upstream has answered others without a token: it refuses only this list.
      return refusal.hasWitness ? .blameList : failSync(with: .notRenewable(settings, refusal: refusal))
    }
    // The first 401 refused the session, so that `token` is nil. Later ones join the waiters of that refresh.
    guard let token else { return join(waiter) }
    guard settings.flow.refreshes else { return refuseFixed(token, of: waiter, refusal: refusal, now: now) }
    let isAlive = serves(token) || !token.isExpired(now)
    guard isAlive else { return refuseToken(waiter) }
    if sync.unproven == token.generation { return probe(waiter) }
    if refusal.isFresh { sync.blamedLists.insert(refusal.list) }
    if sync.blamedLists.contains(refusal.list) { return .blameList }
    sync.unexplained += 1
    return refuseToken(waiter)
  }

  /// The token cannot be replaced. If its end seems to be past, it has been tried, and is not sent again. If upstream
  /// has taken it before, that request is repeated, and shows whether the token or the list is at fault.
  private mutating func refuseFixed(
    _ token: Token, of waiter: Waiter, refusal: TokenRefusal, now: ClockReading
  ) -> Action {
    if token.isExpired(now) {
      outlived = token.generation
      return .fail(hasOutlived(token, now))
    }
    if sync.blamedLists.contains(refusal.list) { return .blameList }
    guard refusal.hasWitness else { return failSync(with: notRenewable(refusal)) }
    guard phase == .idle else { return join(waiter) }
    return refusedAgain(Trial(id: waiter, pauses: []), refusal: refusal, sequel: Sequel())
  }

  private mutating func refuseToken(_ waiter: Waiter) -> Action {
    session.standing = .refused
    return join(waiter)
  }

  /// The token of that generation works: the requests that wait for its trial get it.
  mutating func accepted(_ generation: Int) -> Action {
    guard sync.unproven == generation else { return .ignore }
    sync.unproven = nil
    guard case .busy(.proving, let sequel) = phase else { return .ignore }
    return finish(sequel, result: .success(token))
  }

  /// The request that had succeeded was answered with the current token: the refusal is about the other list.
  mutating func blame(_ list: String) { sync.blamedLists.insert(list) }

  /// The trial ended without an answer to its question: the next refused request begins another one.
  mutating func trialEnded(_ id: Waiter) -> Action {
    guard case .busy(.proving(let trial), let sequel) = phase, trial.id == id else { return .ignore }
    return finish(sequel, result: .success(token))
  }

  /// A brand-new token was refused: one request tries it again.
  private mutating func probe(_ waiter: Waiter) -> Action {
    guard phase == .idle else { return join(waiter) }
    return refusedAgain(Trial(id: waiter), refusal: TokenRefusal(), sequel: Sequel())
  }

  private mutating func refusedAgain(_ trial: Trial, refusal: TokenRefusal, sequel: Sequel) -> Action {
    var trial = trial
    if let step = trial.next(hasWitness: refusal.hasWitness) {
      phase = .busy(.proving(trial), sequel)
      return step
    }
    let failure =
      settings.flow.refreshes ? Failure.freshTokenRefused(settings, refusal: refusal) : notRenewable(refusal)
    sync.failure = failure
    return finish(sequel, result: .failure(failure))
  }

  /// A status of `auth.logout_status`. One that answers a token from before this session says nothing about it.
  mutating func loggedOut(_ generation: Int?, ending: Session.Ending) -> Action {
    guard settings.flow.refreshes, session.ending == nil, (generation ?? 0) >= firstGeneration else { return .ignore }
    session.standing = .ended(ending)
    let result = Result<Token?, Failure>.failure(.ended(ending, settings: settings))
    switch phase {
    case .busy(.waiting, var sequel), .busy(.proving, var sequel):
      sequel.hasNote = true
      return finish(sequel, result: result)
    case .idle, .busy, .unstored: return release(result, note: true)
    }
  }

  /// The refresh token, or the token that renews itself, is near its end.
  mutating func renewalDue(_ now: ClockReading) -> Action {
    guard let due = renewal(now.date), due <= now.date, session.remainingPause(now) == nil else { return .ignore }
    phase = .busy(.waiting(.first), Sequel())
    return .refresh(.expired)
  }

  mutating func waiterCancelled(_ waiter: Waiter) {
    guard case .busy(let work, var sequel) = phase else { return }
    sequel.waiters.removeAll { $0 == waiter }
    phase = .busy(work, sequel)
  }

  // MARK: The token request

  /// Call this when the wait for the attempt is over. A pause that the token server asked for may last longer.
  mutating func due(now: ClockReading) -> Action {
    guard case .busy(.waiting(let turn), let sequel) = phase else { return .ignore }
    if turn == .first, session.standing == .refused, let rest = sync.unexplainedPause(now) { return .coolDown(rest) }
    guard turn == .first, let left = session.remainingPause(now) else { return send(turn, sequel: sequel, now: now) }
    if left <= settings.retry.maxRetryAfter { return .coolDown(left) }
    let failure = Failure.paused(until: now.date + left.seconds, retryAfter: left, settings: settings)
    return gaveUp(failure, sequel: sequel, now: now)
  }

  mutating func refreshed(_ answer: GrantAnswer) -> Action {
    guard case .busy(.sending(let attempt), var sequel) = phase else { return .ignore }
    var granted = attempt.session.granted(answer)
    granted.asked = attempt.setup.settings.asked
    if attempt.isEarly { granted.keepEnd(of: attempt.session) }
    granted = granted.recording(attempt.setup.settings, credentials: attempt.setup.credentials)
    sequel.hasNote = false
    phase = .busy(.storing(granted), sequel)
    return .store(granted)
  }

  mutating func refreshFailed(_ fault: Fault, now: ClockReading) -> Action {
    guard case .busy(.sending(let attempt), var sequel) = phase else { return .ignore }
    if let pause = fault.pause, session.notePause(pause, at: now) { sequel.hasNote = true }
    if let ending = session.ending { return finish(sequel, result: .failure(.ended(ending, settings: settings))) }
    // The store contains a note that this request may have no answer.
    if session.hasReplaceableToken { sequel.hasNote = true }
    if case .postponed = fault { session.passingRefusals += 1 }
    if attempt.isEarly, !fault.isPassing { return failedEarly(fault, sequel: sequel, now: now) }
    switch fault {
    case .passing(let failure, let delay, let delivery):
      if delivery == .lost { _ = session.noteUnanswered() }
      // Requests that wait although the old token is valid wait for no pause.
      let mayWait = !attempt.isEarly || sequel.waiters.isEmpty
      guard let delay, !isStopping, mayWait || delay == .zero else {
        return gaveUp(failure, sequel: sequel, now: now)
      }
      let turn = Turn(number: attempt.turn.number + 1, isReplay: attempt.turn.isReplay || delivery != .unsent)
      phase = .busy(.waiting(turn), sequel)
      return .coolDown(delay)
    case .refused where mayGrantAgain(after: attempt), .unexplained where mayGrantAgain(after: attempt):
      session.forgetTokens()
      guard isStopping else { return send(attempt.turn, sequel: sequel, now: now) }
      sequel.hasNote = true
      return finish(sequel, result: .failure(.stopping))
    case .refused where sync.mayRetry && !isStopping:
      sync.mayRetry = false
      return send(.first, sequel: sequel, now: now)
    case .refused(var ending):
      ending.trials = onTrial.map { $0.trials + 1 } ?? 0
      onTrial = nil
      session.standing = .ended(ending)
      sequel.hasNote = true
      return finish(sequel, result: .failure(.ended(ending, settings: settings)))
    case .postponed(let failure):
      sequel.hasNote = true
      return gaveUp(failure, sequel: sequel, now: now)
    case .unexplained(let failure), .other(let failure):
      sync.failure = failure
      endTrial()
      return finish(sequel, result: .failure(failure))
    }
  }

  /// The old token is still valid: it is used to its end, and only the answer then counts.
  private mutating func failedEarly(_ fault: Fault, sequel: Sequel, now: ClockReading) -> Action {
    var sequel = sequel
    switch fault {
    case .refused, .postponed, .unexplained:
      session.early = .refused
      sequel.hasNote = true
    case .passing, .other: unhurried = generation
    }
    endTrial()
    return goOn(sequel, now: now)
  }

  /// The process ends before the answer. Returns what the next one should know.
  mutating func abandoned() -> Session? {
    guard case .busy(.sending(let attempt), var sequel) = phase else { return nil }
    guard session.noteUnanswered() || sequel.hasNote else { return nil }
    sequel.hasNote = false
    phase = .busy(.sending(attempt), sequel)
    return session.ended(onTrial)
  }

  // MARK: The store

  mutating func stored(now: ClockReading) -> Action {
    switch phase {
    case .busy(.storing(let granted), var sequel):
      let ending = session.ending
      // Upstream may give the same token until it expires, which is no brand-new one then.
      let isSame = session.access.map { $0.access == granted.access?.access } ?? false
      let wasProven = sync.unproven != generation
      session = granted
      onTrial = nil
      if let ending {
        session.standing = .ended(ending)
        sequel.hasNote = true
        return finish(sequel, result: .failure(.ended(ending, settings: settings)))
      }
      takeToken(now)
      sync.unproven = isSame && wasProven ? nil : generation
      sync.granted = generation
      newToken = session.isOutdated(by: settings) ? .wanted : .unwanted
      return finish(sequel, result: .success(token))
    case .busy(.keeping, let sequel): return goOn(sequel, now: now)
    case .idle, .busy(.waiting, _), .busy(.sending, _), .busy(.proving, _), .unstored: return .ignore
    }
  }

  mutating func storeFailed(_ failure: Failure, now: ClockReading) -> Action {
    guard case .busy(.storing(let granted), let sequel) = phase else { return stored(now: now) }
    phase = .unstored(granted, failure)
    return .release(Release(waiters: sequel.waiters, result: .failure(self.failure ?? failure)))
  }

  // MARK: Syncs, configuration, shutdown

  mutating func syncBegan(_ waiter: Waiter, now: ClockReading) -> Action {
    sync = SyncFacts()
    if settings.flow.hasClientGrant, session.ending?.isTriedAgain(at: now.date, settings) == true {
      beginTrial()
    }
    return failure.map { .fail($0) } ?? waitForNewToken(waiter, now: now)
  }

  /// A new token is wanted: the sync waits for it, and goes on with the old one if upstream does not grant it.
  private mutating func waitForNewToken(_ waiter: Waiter, now: ClockReading) -> Action {
    guard newToken != .unwanted, let token, !token.isExpired(now) else { return .ignore }
    if case .busy = phase { return join(waiter) }
    return newTokenDue(now, waiters: [waiter])
  }

  /// A user asks for a new token.
  mutating func wantNewToken() { newToken = .wanted }

  /// Asks for the new token that is wanted, while requests still use the old one.
  mutating func newTokenDue(_ now: ClockReading, waiters: [Waiter] = []) -> Action {
    guard newToken == .wanted, let token, !token.isExpired(now), mayAsk(now) else { return .ignore }
    phase = .busy(.waiting(.first), Sequel(waiters: waiters))
    return .refresh(.requested)
  }

  /// Serves requests with these settings from now on. A token that was asked for with other ones is asked for again. If
  /// upstream refuses that before the token's end, only another change repeats it.
  mutating func reconfigured(_ setup: Setup, session: Session, now: ClockReading) -> Action {
    let former = self.setup.settings.asked
    let action = replaced(setup, session: session, now: now)
    let isChanged = former != settings.asked
    if isChanged || (newToken == .unwanted && self.session.early == .allowed) {
      newToken = self.session.isOutdated(by: settings) ? .wanted : .unwanted
    }
    return action
  }

  /// Serves requests with `session` from now on, which may be the current one. Another session must wait for the answer
  /// or the write that is in flight, and for the write of a granted token: nothing changes before.
  private mutating func replaced(_ setup: Setup, session: Session, now: ClockReading) -> Action {
    guard session == self.session || !isInFlight && storeFailure == nil else { return .ignore }
    let hasMoved = setup.places != self.setup.places
    self.setup = setup
    // A 401 to a token in its old place is late.
    if hasMoved { generation += 1 }
    if session == self.session { return .ignore }
    switch phase {
    case .idle:
      adopt(session, now: now)
      return .ignore
    case .busy(.waiting, let sequel), .busy(.proving, let sequel):
      return replaceWaiting(sequel, session: session, now: now)
    case .busy(.sending, _), .busy(.storing, _), .busy(.keeping, _), .unstored: return .ignore
    }
  }

  /// Writes a granted session again that could not be written.
  mutating func storesAgain() -> Action {
    guard case .unstored(let granted, _) = phase else { return .ignore }
    phase = .busy(.storing(granted), Sequel())
    return .store(granted)
  }

  /// A change may have repaired the session: it continues with its refresh token.
  mutating func clearEnding() {
    if session.ending != nil { session.standing = .absent }
  }

  /// The ended session gets one more attempt, and ends again unless upstream answers it with a token.
  mutating func beginTrial() {
    onTrial = session.ending ?? onTrial
    clearEnding()
  }

  /// A user asks the running sync for one more attempt, of an ended session or of one that ends later.
  mutating func requestRetry() {
    if session.ending == nil { sync.mayRetry = true } else { beginTrial() }
  }

  /// No further token request starts; work in flight continues.
  mutating func stopped() -> Action {
    isStopping = true
    switch phase {
    case .busy(.waiting, let sequel), .busy(.proving, let sequel):
      return finish(sequel, result: .failure(.stopping))
    case .unstored: return storesAgain()
    case .idle, .busy: return .ignore
    }
  }
}

// MARK: Steps

extension TokenMachine {
  private mutating func join(_ waiter: Waiter) -> Action {
    guard case .busy(let work, var sequel) = phase else {
      return isStopping ? .fail(.stopping) : start([waiter])
    }
    sequel.waiters.append(waiter)
    phase = .busy(work, sequel)
    return .wait
  }

  private mutating func start(_ waiters: [Waiter]) -> Action {
    phase = .busy(.waiting(.first), Sequel(waiters: waiters))
    return .refresh(token != nil ? .expired : session.standing == .refused ? .refused : .absent)
  }

  private mutating func send(_ turn: Turn, sequel: Sequel, now: ClockReading) -> Action {
    if session.standing == .refused { sync.lastUnexplained = now.uptime }
    if newToken == .wanted { newToken = .requested }
    let isEarly = token.map { !$0.isExpired(now) } ?? false
    let attempt = Attempt(turn: turn, isEarly: isEarly, setup: setup, session: session, onTrial: onTrial)
    phase = .busy(.sending(attempt), sequel)
    return .send(attempt)
  }

  /// While the old token is valid, it serves to its end.
  private mutating func gaveUp(_ failure: Failure, sequel: Sequel, now: ClockReading) -> Action {
    if let token, !token.isExpired(now) {
      unhurried = generation
      return goOn(sequel, now: now)
    }
    sync.failure = failure
    endTrial()
    return finish(sequel, result: .failure(failure))
  }

  private mutating func endTrial() {
    if let onTrial { session.standing = .ended(onTrial) }
    onTrial = nil
  }

  private mutating func replaceWaiting(_ sequel: Sequel, session: Session, now: ClockReading) -> Action {
    let old = self.session.ended(onTrial)
    adopt(session, now: now)
    guard sequel.hasNote else { return serve(sequel.waiters, now: now) }
    phase = .busy(.keeping(old), Sequel(waiters: sequel.waiters))
    guard case .release(let release)? = answer(now).map({ self.release($0, note: false) }) else {
      return .keep(old, .none)
    }
    return .keep(old, release)
  }

  private mutating func failSync(with failure: Failure) -> Action {
    sync.failure = failure
    return .fail(failure)
  }

  /// The work has ended, and its result is the result of the waiters.
  private mutating func finish(_ sequel: Sequel, result: Result<Token?, Failure>) -> Action {
    if newToken == .requested { newToken = .unwanted }
    let release = Release(waiters: sequel.waiters, result: result)
    let stored = session.ended(onTrial)
    phase = sequel.hasNote ? .busy(.keeping(stored), Sequel()) : .idle
    return sequel.hasNote ? .keep(stored, release) : .release(release)
  }

  /// The work has ended without a result for the waiters.
  private mutating func goOn(_ sequel: Sequel, now: ClockReading) -> Action {
    if newToken == .requested { newToken = .unwanted }
    guard sequel.hasNote else { return serve(sequel.waiters, now: now) }
    let stored = session.ended(onTrial)
    phase = .busy(.keeping(stored), Sequel(waiters: sequel.waiters))
    return .keep(stored, .none)
  }

  private mutating func serve(_ waiters: [Waiter], now: ClockReading) -> Action {
    phase = .idle
    let action = newTokenDue(now, waiters: waiters)
    if waiters.isEmpty || action != .ignore { return action }
    return answer(now).map { .release(Release(waiters: waiters, result: $0)) } ?? start(waiters)
  }

  /// Releases the waiters; work in flight continues.
  private mutating func release(_ result: Result<Token?, Failure>, note: Bool) -> Action {
    switch phase {
    case .idle: return finish(Sequel(hasNote: note), result: result)
    case .busy(let work, let sequel):
      phase = .busy(work, Sequel(hasNote: note || sequel.hasNote))
      return .release(Release(waiters: sequel.waiters, result: result))
    case .unstored: return .release(Release(waiters: [], result: result))
    }
  }

  private mutating func adopt(_ session: Session, now: ClockReading) {
    self.session = session
    onTrial = nil
    sync = SyncFacts()
    takeToken(now)
    firstGeneration = generation
  }

  private mutating func takeToken(_ now: ClockReading) {
    generation += 1
    session.startPause(now)
    if case .token(var issued) = session.standing {
      issued.start(now)
      session.standing = .token(issued)
    }
  }
}
