import FoundationEssentials
import RosterCore

/// The machine's state as other code reads it.
extension TokenMachine {
  var settings: TokenSettings { setup.settings }

  /// nil if the token is missing or refused.
  var token: Token? {
    session.access.map {
      Token(
        generation: generation, issued: $0, places: setup.places, files: setup.sent,
        isAssertion: settings.flow.signsToken,
        isRenewed: settings.flow.refreshes)
    }
  }

  func notRenewable(_ refusal: TokenRefusal) -> Failure {
    .notRenewable(settings, refusal: refusal, oddities: setup.credentials.oddities(settings, session: nil))
  }

  /// The failure for a token that upstream has refused after its end, and that cannot be replaced.
  func hasOutlived(_ token: Token, _ now: ClockReading) -> Failure {
    .outlived(
      token, now: now.date, settings: settings, oddities: setup.credentials.oddities(settings, session: nil))
  }

  /// The failure of every request at present; nil if requests can be served.
  var failure: Failure? {
    if let ending = session.ending { return .ended(ending, settings: settings) }
    if case .unstored(_, let failure) = phase { return failure }
    return sync.failure
  }

  /// True if a 401 to the token of that generation (nil for a request without one) says nothing about the current
  /// token. If the flow sends no token, any token is older than a reload.
  func isLate(_ generation: Int?) -> Bool {
    settings.flow.sendsToken ? (generation ?? 0) < self.generation : generation != nil
  }

  /// The time at which a daemon renews without a sync; nil if it must not, or the end is unknown or past.
  func renewal(_ now: Date) -> Date? {
    guard phase == .idle, settings.flow.refreshes, session.ending == nil, !isStopping, let renewal = session.renewal,
      renewal.endsAt > now
    else { return nil }
    // Upstream refuses to replace a token that is still valid. That is worth a try if the session ends with it.
    guard session.early != .allowed, let end = session.access?.expiresAt, end < renewal.endsAt else {
      return renewal.due
    }
    return max(renewal.due, end)
  }

  /// The session with the newest tokens, which may not be on disk yet.
  var newest: Session {
    switch phase {
    case .busy(.storing(let granted), _), .unstored(let granted, _): granted
    case .idle, .busy: session
    }
  }

  var isWaiting: Bool {
    if case .busy(.waiting, _) = phase { true } else { false }
  }

  /// The reason why a granted token is in memory only; nil if none is.
  var storeFailure: Failure? {
    if case .unstored(_, let failure) = phase { failure } else { nil }
  }

  var waiters: [Waiter] {
    if case .busy(_, let sequel) = phase { sequel.waiters } else { [] }
  }

  /// The current session if it continues with this setup.
  func known(_ setup: Setup) -> Session? {
    session.fits(setup.settings, credentials: setup.credentials) ? session : nil
  }

  /// True while an answer or a write is outstanding. It belongs to the session, so that no other session takes its
  /// place meanwhile.
  var isInFlight: Bool {
    switch phase {
    case .idle, .busy(.waiting, _), .busy(.proving, _), .unstored: false
    case .busy(.sending, _), .busy(.storing, _), .busy(.keeping, _): true
    }
  }

  func state(_ now: ClockReading) -> TokenStatus.State {
    if !settings.flow.sendsToken { return .none }
    if session.ending != nil { return .unauthorized }
    switch phase {
    case .busy(.keeping, _), .busy(.proving, _), .idle, .unstored: break
    case .busy(.waiting, _), .busy(.sending, _), .busy(.storing, _): return .refreshing
    }
    guard let token else { return .none }
    return token.isExpired(now) ? .expired : .valid
  }
}

/// The rules by which the machine decides.
extension TokenMachine {
  /// The answer that a request gets without waiting; nil if it needs a refresh.
  func answer(_ now: ClockReading) -> Result<Token?, Failure>? {
    if !settings.flow.sendsToken { return .success(nil) }
    if let failure { return .failure(failure) }
    if case .busy(.proving, _) = phase { return nil }
    if let token, !token.isExpired(now) || serves(token) { return .success(token) }
    guard settings.flow.refreshes else {
      guard let token else { return .failure(.notRenewable(settings)) }
      // This machine's clock may be wrong.
      return outlived == token.generation
        ? .failure(hasOutlived(token, now)) : .success(token)
    }
    return isStopping && phase == .idle ? .failure(.stopping) : nil
  }

  /// Born expired, in this sync. Another refresh would bring another such token for each request.
  func serves(_ token: Token) -> Bool {
    token.isBornExpired && sync.granted == token.generation
  }

  func needsEarlyRefresh(_ token: Token, now: ClockReading) -> Bool {
    guard mayAsk(now), !serves(token) else { return false }
    if newToken == .wanted { return true }
    return session.early == .allowed && unhurried != generation && token.isDue(now, early: settings.earlyRefresh)
  }

  func mayAsk(_ now: ClockReading) -> Bool {
    phase == .idle && settings.flow.refreshes && !isStopping && session.remainingPause(now) == nil
  }

  /// A refused refresh is followed by one login, or by the client's own grant. A session without tokens
  /// has nothing to refresh.
  func mayGrantAgain(after attempt: Attempt) -> Bool {
    guard session.hasReplaceableToken, !attempt.session.logsIn(attempt.setup.settings) else { return false }
    return settings.flow.hasClientGrant || settings.exchange?.login != nil
  }

  /// True if an answer that shows that the token works would change anything.
  func isNews(_ generation: Int) -> Bool { sync.unproven == generation }
}
