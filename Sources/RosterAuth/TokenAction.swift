import RosterModel

/// The machine's actions, and the faults that it handles.
extension TokenMachine {
  enum RefreshReason: String, Sendable {
    case absent, expired, refused
  }

  struct Release: Sendable, Equatable {
    var waiters: [Waiter]
    var result: Result<Token?, Failure>

    /// Releases no waiter.
    static let none = Release(waiters: [], result: .success(nil))
  }

  enum Action: Sendable, Equatable {
    case ignore
    /// nil sends the request without a token.
    case use(Token?)
    /// Both `use` and `refresh`; no request waits for the refresh.
    case useAndRefresh(Token, RefreshReason)
    /// The caller waits for its release.
    case wait
    /// The keeper calls `due` at once. The caller waits.
    case refresh(RefreshReason)
    /// `due` is to follow after this pause.
    case coolDown(Duration)
    case send(Attempt)
    case store(Session)
    case release(Release)
    /// Release, and write the session, whose loss would cost no token.
    case keep(Session, Release)
    case fail(Failure)
  }

  /// Why a token request brought no token.
  enum Fault: Sendable, Equatable {
    /// `delay` is nil if no retry is left. `answered`: upstream cannot have rotated the refresh token unseen (T5).
    case passing(Failure, delay: Duration?, answered: Bool)
    case refused(Session.Ending)
    case incomplete(Session.Ending)
    /// A 2xx answer without JSON.
    case malformed(Failure)
    case other(Failure)
  }
}
