import FoundationEssentials
import RosterModel

/// Decides what happens to the tokens; TokenKeeper does it. A value: one method an event, each returns what to do.
///
/// At most one token request or write is under way (`phase`); a token reaches a request only after the session
/// that it came with was stored (T1, T4).
struct TokenMachine: Sendable, Equatable {
  typealias Waiter = Int

  private(set) var phase = Phase.idle
  private(set) var session: Session
  private(set) var settings: TokenSettings
  /// nil: none, or refused.
  private(set) var token: Token?
  private(set) var generation = 0
  private(set) var waiters: [Waiter] = []
  /// The first of this session: what was sent with an older one says nothing about it.
  private var firstGeneration = 1
  /// Fails every request until the next sync.
  private(set) var barred: Failure?
  /// Replaces the session as soon as nothing is under way.
  private var next: Session?
  private var missing = RefreshReason.absent
  /// Granted in this sync, and not yet known to work (T3).
  private(set) var isUnproven = false
  /// An early refresh failed: the token serves to its end before the next try.
  private var earlyFailed = false
  private var isUnkept = false
  private var isStopping = false

  init(_ settings: TokenSettings, _ session: Session) {
    self.settings = settings
    self.session = session
    takeToken()
  }

  // MARK: Requests

  mutating func wanted(_ waiter: Waiter, now: Date) -> Action {
    if settings.flow == .none { return .use(nil) }
    if let failure { return .fail(failure) }
    guard let token, !token.isExpired(now) else { return join(waiter) }
    guard phase == .idle, settings.flow.refreshes, !earlyFailed, !isStopping,
      token.isDue(now, early: settings.earlyRefresh)
    else { return .use(token) }
    phase = .refreshing(attempt: 1)
    return .useAndRefresh(token, .expired)
  }

  /// A 401 to the token of that generation (nil: to none). An older one than the current means: send again.
  mutating func rejected(_ waiter: Waiter, _ generation: Int?, now: Date) -> Action {
    if let failure { return .fail(failure) }
    guard settings.flow != .none else { return bar(.notRenewable(settings)) }
    guard let token else { return join(waiter) }
    if isLate(generation) { return wanted(waiter, now: now) }
    guard settings.flow.refreshes else { return bar(.notRenewable(settings)) }
    if isUnproven { return refusedAgain(generation) }
    lose(token)
    return join(waiter)
  }

  func isLate(_ generation: Int?) -> Bool { settings.flow != .none && (generation ?? 0) < self.generation }

  mutating func accepted(_ generation: Int) {
    if token?.generation == generation { isUnproven = false }
  }

  /// A request was refused with a fresh token too: the sync is over, and the next one starts with a refresh (T3).
  mutating func refusedAgain(_ generation: Int?) -> Action {
    let failure = Failure.freshTokenRefused(settings)
    barred = failure
    guard settings.flow.refreshes, let token, token.generation == generation else {
      return .release(releaseAll(.failure(failure)))
    }
    lose(token)
    isUnkept = true
    return settled(.failure(failure))
  }

  /// A status of `auth.logout_status`. One that answers a token from before this session says nothing about it.
  mutating func loggedOut(_ generation: Int?, _ ending: Session.Ending) -> Action {
    guard settings.flow.refreshes, session.ending == nil, (generation ?? 0) >= firstGeneration else { return .ignore }
    return end(ending)
  }

  mutating func waiterCancelled(_ waiter: Waiter) {
    waiters.removeAll { $0 == waiter }
  }

  // MARK: The token request

  mutating func refreshed(_ answer: GrantAnswer, now: Date) -> Action {
    guard case .refreshing = phase else { return .ignore }
    if let next { return adopt(next, now: now) }
    var granted = session
    granted.isUnanswered = false
    granted.access = answer.issued
    granted.refreshToken = answer.refreshToken ?? session.refreshToken
    phase = .storing(granted)
    isUnkept = false
    return .store(granted)
  }

  mutating func refreshFailed(_ fault: Fault, now: Date) -> Action {
    guard case .refreshing(let attempt) = phase else { return .ignore }
    if let next { return adopt(next, now: now) }
    if let ending = session.ending {
      phase = .idle
      return settled(.failure(.ended(ending, settings)))
    }
    switch fault {
    case .passing(let failure, let delay, let answered):
      if !answered, session.refreshToken != nil, !session.isUnanswered {
        session.isUnanswered = true
        isUnkept = true
      }
      if let delay, !isStopping {
        phase = .coolingDown(attempt: attempt)
        return .coolDown(delay)
      }
      phase = .idle
      // Without waiters it was early, and the old token still serves.
      if waiters.isEmpty { earlyFailed = true } else { barred = failure }
      return settled(.failure(failure))
    case .refused where settings.flow == .oauth2ClientCredentials && session.refreshToken != nil:
      session.refreshToken = nil
      return .send
    case .refused(let ending), .incomplete(let ending):
      phase = .idle
      return end(ending)
    case .other(let failure):
      phase = .idle
      barred = failure
      return settled(.failure(failure))
    }
  }

  /// The process ends before the answer (T7). Returns what the next one should know.
  mutating func abandoned() -> Session? {
    guard case .refreshing = phase, session.refreshToken != nil, !session.isUnanswered || isUnkept else { return nil }
    session.isUnanswered = true
    isUnkept = false
    return session
  }

  mutating func due() -> Action {
    guard case .coolingDown(let attempt) = phase else { return .ignore }
    phase = .refreshing(attempt: attempt + 1)
    return .send
  }

  // MARK: The store

  mutating func stored(now: Date) -> Action {
    switch phase {
    case .storing(var granted):
      phase = .idle
      if let next { return adopt(next, now: now) }
      granted.ending = session.ending
      session = granted
      if let ending = session.ending { return settled(.failure(.ended(ending, settings))) }
      takeToken()
      isUnproven = true
      return settled(.success(token))
    case .keeping:
      phase = .idle
      if let next { return adopt(next, now: now) }
      if isUnkept { return keep(Release(waiters: [], result: .success(token))) }
      return waiters.isEmpty ? .ignore : start()
    case .idle, .refreshing, .coolingDown, .unstored: return .ignore
    }
  }

  mutating func storeFailed(_ failure: Failure, now: Date) -> Action {
    guard case .storing(let granted) = phase else { return stored(now: now) }
    phase = .idle
    if let next { return adopt(next, now: now) }
    phase = .unstored(granted)
    barred = failure
    return .release(releaseAll(.failure(failure)))
  }

  // MARK: Syncs, configuration, shutdown

  mutating func syncBegan(_ waiter: Waiter) -> Action {
    barred = nil
    earlyFailed = false
    isUnproven = false
    if case .unstored(let granted) = phase {
      waiters.append(waiter)
      phase = .storing(granted)
      return .store(granted)
    }
    return failure.map { .fail($0) } ?? .ignore
  }

  mutating func reconfigured(_ settings: TokenSettings) {
    self.settings = settings
  }

  mutating func credentialChanged(_ next: Session, now: Date) -> Action {
    switch phase {
    case .refreshing, .storing, .keeping:
      self.next = next
      return .ignore
    case .idle, .coolingDown, .unstored: return adopt(next, now: now)
    }
  }

  /// The ended session gets another try, with its refresh token.
  mutating func lifted() {
    session.ending = nil
    session.access = nil
    token = nil
    missing = .absent
  }

  /// No token request starts any more; what is under way goes on (T7).
  mutating func stopped() -> Action {
    isStopping = true
    switch phase {
    case .coolingDown:
      phase = .idle
      return settled(.failure(.stopping))
    case .unstored(let granted):
      phase = .storing(granted)
      return .store(granted)
    case .idle, .refreshing, .storing, .keeping: return .ignore
    }
  }
}

extension TokenMachine {
  /// What every request fails with now.
  var failure: Failure? {
    if let ending = session.ending { return .ended(ending, settings) }
    return barred
  }

  /// T4: the current token is in memory only.
  var isUnstored: Bool {
    if case .unstored = phase { true } else { false }
  }

  var isCoolingDown: Bool {
    if case .coolingDown = phase { true } else { false }
  }

  func state(_ now: Date) -> TokenStatus.State {
    if settings.flow == .none { return .none }
    if session.ending != nil { return .unauthorized }
    switch phase {
    case .refreshing, .coolingDown, .storing: return .refreshing
    case .idle, .unstored, .keeping: break
    }
    guard let token else { return .none }
    return token.isExpired(now) ? .expired : .valid
  }

  private mutating func join(_ waiter: Waiter) -> Action {
    guard settings.flow.refreshes else {
      return bar(token?.expiresAt.map { .outlived($0, settings) } ?? .notRenewable(settings))
    }
    if phase == .idle, isStopping { return .fail(.stopping) }
    waiters.append(waiter)
    return phase == .idle ? start() : .wait
  }

  private mutating func start() -> Action {
    if isStopping { return .release(releaseAll(.failure(.stopping))) }
    phase = .refreshing(attempt: 1)
    return .refresh(token == nil ? missing : .expired)
  }

  private mutating func bar(_ failure: Failure) -> Action {
    barred = failure
    return .fail(failure)
  }

  private mutating func end(_ ending: Session.Ending) -> Action {
    session.ending = ending
    session.access = nil
    token = nil
    isUnkept = true
    if isCoolingDown { phase = .idle }
    return settled(.failure(.ended(ending, settings)))
  }

  private mutating func lose(_ token: Token) {
    self.token = nil
    session.access = nil
    missing = .refused
  }

  private mutating func takeToken() {
    generation += 1
    token = session.access.map { Token($0, generation: generation) }
  }

  /// Releases the waiters; writes what is worth it once nothing is under way.
  private mutating func settled(_ result: Result<Token?, Failure>) -> Action {
    let release = releaseAll(result)
    return isUnkept && phase == .idle ? keep(release) : .release(release)
  }

  private mutating func keep(_ release: Release) -> Action {
    isUnkept = false
    phase = .keeping
    return .keep(session, release)
  }

  private mutating func releaseAll(_ result: Result<Token?, Failure>) -> Release {
    defer { waiters = [] }
    return Release(waiters: waiters, result: result)
  }

  private mutating func adopt(_ session: Session, now: Date) -> Action {
    self.session = session
    next = nil
    phase = .idle
    barred = nil
    missing = .absent
    isUnproven = false
    earlyFailed = false
    isUnkept = false
    takeToken()
    firstGeneration = generation
    guard !waiters.isEmpty else { return .ignore }
    if settings.flow == .none { return .release(releaseAll(.success(nil))) }
    if let token, !token.isExpired(now) { return .release(releaseAll(.success(token))) }
    return settings.flow.refreshes ? start() : .release(releaseAll(.failure(.notRenewable(settings))))
  }
}
