import RosterModel

/// What the machine is in the middle of, what it asks for, and what it is told.
extension TokenMachine {
  enum RefreshReason: String, Sendable {
    case absent, expired, refused
  }

  /// idle → refreshing ⇄ coolingDown, refreshing → storing → idle or unstored; idle, refreshing → keeping → idle.
  enum Phase: Sendable, Equatable {
    case idle
    /// A token request is under way.
    case refreshing(attempt: Int)
    /// That attempt failed; the next waits.
    case coolingDown(attempt: Int)
    /// A granted session is being written; nobody has its token yet.
    case storing(Session)
    /// It could not be written, and must be before anything else (T4).
    case unstored(Session)
    /// What changed without a grant is being written.
    case keeping
  }

  struct Release: Sendable, Equatable {
    var waiters: [Waiter]
    var result: Result<Token?, Failure>
  }

  enum Action: Sendable, Equatable {
    case ignore
    /// nil: the request goes without a token.
    case use(Token?)
    case useAndRefresh(Token, RefreshReason)
    /// The caller waits for its release.
    case wait
    /// Send a token request; a caller waits.
    case refresh(RefreshReason)
    /// Send it once more.
    case send
    case coolDown(Duration)
    case store(Session)
    case release(Release)
    /// Release, and write the session, whose loss would cost no token.
    case keep(Session, Release)
    case fail(Failure)
  }

  /// Why a token request brought no token.
  enum Fault: Sendable, Equatable {
    /// `delay` nil: tried often enough.
    case passing(Failure, delay: Duration?, answered: Bool)
    case refused(Session.Ending)
    case incomplete(Session.Ending)
    case other(Failure)
  }
}
