import FoundationEssentials
import RosterCore

/// The machine's actions, and the faults that it handles.
extension TokenMachine {
  enum RefreshReason: String, Sendable {
    case absent, expired, refused
    /// A user or a change of the settings asks for it.
    case requested
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
    /// The request is sent again after this pause, with the current token, while all others wait. The number names the
    /// trial.
    case probe(after: Duration, trial: Int)
    /// The trial goes on with a request that had succeeded.
    case verify(trial: Int)
    /// The refusal is about the list of the request, not about the token.
    case blameList
  }

  /// Why a token request brought no token.
  enum Fault: Sendable, Equatable {
    /// `delay` is nil if no attempt follows in this sync.
    case passing(Failure, delay: Duration?, delivery: Delivery)
    /// A statement about the grant or the client, or a refused password: the session ends.
    case refused(Session.Ending)
    /// A passing refusal of a login with a password. The third one is the last.
    case postponed(Failure)
    /// No usable token, and no statement either: a refusal without a known code, or a 2xx answer without its fields.
    case unexplained(Failure)
    case other(Failure)

    /// The failure of the request, for messages.
    func failure(_ settings: TokenSettings) -> Failure {
      switch self {
      case .passing(let failure, _, _), .postponed(let failure), .unexplained(let failure), .other(let failure): failure
      case .refused(let ending): .ended(ending, settings: settings)
      }
    }

    var isPassing: Bool {
      if case .passing = self { true } else { false }
    }

    /// The pause that no token request may shorten; nil without a pause.
    var pause: Duration? {
      switch self {
      case .passing(let failure, _, _), .postponed(let failure): failure.retryAfter
      case .refused, .unexplained, .other: nil
      }
    }
  }

  /// The fate of a token request that brought no token.
  enum Delivery: Sendable {
    /// It never reached upstream.
    case unsent
    /// The token server itself answered: it has rotated nothing.
    case answered
    /// Without an answer of the token server, which may have rotated the token unseen.
    case lost
  }
}
