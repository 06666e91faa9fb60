import RosterModel

/// The machine's states. Each state has only the data that it needs, so that wrong combinations do not compile.
extension TokenMachine {
  /// Settings and credentials of token requests.
  struct Setup: Sendable, Equatable {
    var settings: TokenSettings
    var credentials = Credentials()
  }

  /// idle → waiting → sending → storing → idle; sending → waiting for another attempt; storing ⇄ unstored; any other
  /// state → keeping → idle.
  enum Phase: Sendable, Equatable {
    case idle
    case busy(Work, Sequel)
    /// A granted session could not be written, which must be repeated before anything else. All requests fail meanwhile
    /// (T4).
    case unstored(Session, Failure, isSuperseded: Bool)
  }

  /// One at a time; only the wait can be cut short.
  enum Work: Sendable, Equatable {
    /// The attempt of that number (1 is the first) is to be sent, now or after a pause.
    case waiting(Int)
    case sending(Attempt)
    /// A granted session is being written; no request has its token yet.
    case storing(Session)
    /// A change without a grant is being written.
    case keeping(Session)
  }

  /// One token request; a reload meanwhile does not change it.
  struct Attempt: Sendable, Equatable {
    var number: Int
    var setup: Setup
    var session: Session
    /// The reason for which the session had ended, if this is one more try of it (T6); nil otherwise.
    var onTrial: Session.Ending?

    /// The session as the store has it until an answer grants a token: it stays ended during a trial (T6.4).
    var stored: Session { session.ended(onTrial) }
  }

  /// The steps after the work has ended.
  struct Sequel: Sendable, Equatable {
    var waiters: [Waiter] = []
    /// True if the session must be written again although no token was granted. A failure of that write costs no token.
    var hasNote = false
    /// The work belongs to a session that another one has replaced: its result is written and not used.
    var isSuperseded = false
  }

  /// Facts about one sync; the next one begins without them.
  struct SyncFacts: Sendable, Equatable {
    /// Fails every request.
    var failure: Failure?
    /// The generation that was granted last.
    var granted: Int?
    /// The same, until it has worked (T3).
    var unproven: Int?
    /// An early refresh failed: none is sent before that time.
    var earlyRefreshAfter: Duration?
    /// A user asked for one more attempt before the session ended (T6).
    var mayRetry = false
  }
}

extension TokenMachine.Work {
  var session: Session? {
    switch self {
    case .waiting: nil
    case .sending(let attempt): attempt.session
    case .storing(let session), .keeping(let session): session
    }
  }

  /// The session as requests may use it meanwhile: no request gets a token that is not on disk (T4).
  func servable(_ session: Session) -> Session {
    guard case .storing = self else { return session }
    var session = session
    session.standing = .absent
    return session
  }
}
