import RosterModel

/// What the machine is in the middle of. Each state has what it alone needs, so that no wrong combination can be
/// written.
extension TokenMachine {
  /// What token requests are made with.
  struct Setup: Sendable, Equatable {
    var settings: TokenSettings
    var credentials = Credentials()
  }

  /// idle → waiting → sending → storing → idle; sending → waiting, where it is tried again; storing ⇄ unstored;
  /// any of them but unstored → keeping → idle.
  enum Phase: Sendable, Equatable {
    case idle
    case busy(Work, Sequel)
    /// A granted session could not be written, and must be before anything else; the failure is everybody's (T4).
    case unstored(Session, Failure, isSuperseded: Bool)
  }

  /// One at a time; only the wait can be cut short.
  enum Work: Sendable, Equatable {
    /// The attempt of that number (1 is the first) is to be sent, now or after a pause.
    case waiting(Int)
    case sending(Attempt)
    /// A granted session is being written; nobody has its token yet.
    case storing(Session)
    /// What changed without a grant is being written.
    case keeping(Session)
  }

  /// One token request, as it is sent: a reload meanwhile changes nothing of it.
  struct Attempt: Sendable, Equatable {
    var number: Int
    var setup: Setup
    var session: Session
  }

  /// What follows when the work has ended.
  struct Sequel: Sendable, Equatable {
    var waiters: [Waiter] = []
    /// The store should know what the session has become; its loss would cost no token.
    var hasNote = false
    /// The work is for a session that another one has replaced: what it brings is written and not used.
    var isSuperseded = false
  }

  /// What holds for one sync; the next one begins without it.
  struct SyncFacts: Sendable, Equatable {
    /// Fails every request.
    var failure: Failure?
    /// The generation that was granted last.
    var granted: Int?
    /// The same, until it has worked (T3).
    var unproven: Int?
    /// An early refresh failed: none is sent before that time.
    var earlyRefreshAfter: Duration?
    /// Somebody asked for one more try before the session has ended (T6).
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

  /// As requests may use it meanwhile: a token that is not on disk serves nobody (T4).
  func servable(_ session: Session) -> Session {
    guard case .storing = self else { return session }
    var session = session
    session.standing = .absent
    return session
  }
}
