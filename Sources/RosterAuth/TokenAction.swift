import FoundationEssentials
package import RosterCore

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

/// An answer of a page that refuses its token: a 401, `error="invalid_token"`, or what `auth.expired` names.
package struct TokenRefusal: Sendable, Equatable {
  /// Generation of the token; nil if the request had none.
  package var generation: Int?
  /// The status, for messages.
  package var status: Int
  /// The key of `auth.expired` that names the answer; nil for any other.
  package var key: String?
  /// The list of the request.
  package var list: String
  /// True if the request has got a fresh token after an earlier refusal.
  package var isFresh = false
  /// The trial that the request is part of; nil for others.
  package var trial: Int?
  /// True if a request is known that had succeeded.
  var hasWitness = false

  /// A refusal outside of a trial.
  package init(generation: Int? = nil, status: Int = 401, key: String? = nil, list: String = "") {
    self.generation = generation
    self.status = status
    self.key = key
    self.list = list
  }

  var text: String { key.map { "\(status), by \($0)" } ?? "\(status)" }
}

/// The next step for a request whose token was refused.
package enum RefusedRequest: Sendable {
  /// It is sent again with this token.
  case resend(Token?, isFresh: Bool, trial: Int?)
  /// Another request, which had succeeded, is sent with the same token. Its answer decides.
  case verify(Request, trial: Int)
  /// Its answer counts: the refusal is about the list.
  case accept
}
