import RosterModel

/// What the machine tells of itself.
extension TokenMachine {
  var settings: TokenSettings { setup.settings }

  /// nil: none, or refused.
  var token: Token? { session.access.map { Token(generation: generation, issued: $0, place: settings.place) } }

  /// What every request fails with now.
  var failure: Failure? {
    if let ending = session.ending { return .ended(ending, settings) }
    if case .unstored(_, let failure, _) = phase { return failure }
    return sync.failure
  }

  /// Whether a 401 to the token of that generation (nil: to none) says nothing of the current one. With `none` a token
  /// is one from before a reload.
  func isLate(_ generation: Int?) -> Bool {
    settings.flow == .none ? generation != nil : (generation ?? 0) < self.generation
  }

  var isWaiting: Bool {
    if case .busy(.waiting, _) = phase { true } else { false }
  }

  /// T4: a granted token is in memory only.
  var isUnstored: Bool {
    if case .unstored = phase { true } else { false }
  }

  var waiters: [Waiter] {
    if case .busy(_, let sequel) = phase { sequel.waiters } else { [] }
  }

  /// The session in memory that goes on with these: the current one, or a superseded one that something is under way
  /// for.
  func known(_ setup: Setup) -> Session? {
    var superseded: Session?
    switch phase {
    case .busy(let work, let sequel): superseded = sequel.isSuperseded ? work.session : nil
    case .unstored(let granted, _, let isSuperseded): superseded = isSuperseded ? granted : nil
    case .idle: break
    }
    return [session, superseded].compactMap { $0 }.first { $0.fits(setup.settings, setup.credentials) }
  }

  func state(_ now: ClockReading) -> TokenStatus.State {
    if settings.flow == .none { return .none }
    if session.ending != nil { return .unauthorized }
    switch phase {
    case .busy(.keeping, _), .idle, .unstored: break
    case .busy(_, let sequel): if !sequel.isSuperseded { return .refreshing }
    }
    guard let token else { return .none }
    return token.isExpired(now) ? .expired : .valid
  }
}
