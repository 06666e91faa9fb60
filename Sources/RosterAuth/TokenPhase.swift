import RosterCore

/// The machine's states. Each state has only the data that it needs, so that wrong combinations do not compile.
extension TokenMachine {
  /// A token that is asked for although the current one is valid.
  enum NewToken: Sendable, Equatable {
    case unwanted, wanted, requested
  }

  /// Settings and credentials of token requests.
  struct Setup: Sendable, Equatable {
    let settings: TokenSettings
    let credentials: Credentials
    /// Places of the token and of other secrets in a request.
    let places: [TokenPlace]
    /// The contents of files that `auth.send` names. Both are made once, because each request has them.
    let sent: [CredentialPlaceholder: Secret]

    init(settings: TokenSettings, credentials: Credentials = Credentials()) {
      (self.settings, self.credentials) = (settings, credentials)
      (places, sent) = (settings.places, credentials.sent(settings))
    }
  }

  /// idle → waiting → sending → storing → idle; sending → waiting for another attempt; storing ⇄ unstored; any other
  /// state → keeping → idle.
  enum Phase: Sendable, Equatable {
    case idle
    case busy(Work, Sequel)
    /// A granted session could not be written, which must be repeated before anything else. All requests fail
    /// meanwhile.
    case unstored(Session, Failure)
  }

  /// One at a time; only the wait can be cut short.
  enum Work: Sendable, Equatable {
    /// That attempt is to be sent, now or after a pause.
    case waiting(Turn)
    case sending(Attempt)
    /// A granted session is being written; no request has its token yet.
    case storing(Session)
    /// A change without a grant is being written.
    case keeping(Session)
    /// One request tries a brand-new token that upstream has refused, while all others wait.
    case proving(Trial)
  }

  /// The place of an attempt among those for one token.
  struct Turn: Sendable, Equatable {
    /// 1 is the first.
    var number = 1
    /// True if an earlier attempt may have reached upstream: no further replay follows.
    var isReplay = false

    static let first = Turn()
  }

  /// The trial of a brand-new token.
  struct Trial: Sendable, Equatable {
    /// The waiter of the request that tries it.
    var id: Waiter
    /// Pauses before the next attempts. Usual replicas know a new token after these times.
    var pauses: ArraySlice<Duration> = [.seconds(1), .seconds(2), .seconds(4)]
    /// True while a request is repeated that had succeeded.
    var isVerifying = false

    /// The step after a refusal; nil if the token is at fault.
    mutating func next(hasWitness: Bool) -> Action? {
      if let pause = pauses.popFirst() { return .probe(after: pause, trial: id) }
      guard hasWitness, !isVerifying else { return nil }
      isVerifying = true
      return .verify(trial: id)
    }
  }

  /// One token request.
  struct Attempt: Sendable, Equatable {
    var turn: Turn
    /// True if the old token was still valid when it was sent.
    var isEarly = false
    var setup: Setup
    var session: Session
    /// The reason for which the session had ended, if this is one more try of it; nil otherwise.
    var onTrial: Session.Ending?

    /// The session as the store has it until an answer grants a token: it stays ended during a trial.
    var stored: Session { session.ended(onTrial) }
  }

  /// The steps after the work has ended.
  struct Sequel: Sendable, Equatable {
    var waiters: [Waiter] = []
    /// True if the session must be written again although no token was granted. A failure of that write costs no token.
    var hasNote = false
  }

  /// Facts about one sync; the next one begins without them.
  struct SyncFacts: Sendable, Equatable {
    /// Fails every request.
    var failure: Failure?
    /// The generation that was granted last.
    var granted: Int?
    /// The generation that was granted last and has not yet worked.
    var unproven: Int?
    /// Lists whose refusals are not about the token.
    var blamedLists: Set<String> = []
    /// Number of refreshes that no expiry explains, and the uptime of the last one.
    var unexplained = 0
    var lastUnexplained: Duration?
    /// A user asked for one more attempt before the session ended.
    var mayRetry = false
  }
}

extension TokenMachine.SyncFacts {
  /// The rest of the minute between refreshes without an expiry, which begins after the eighth of a sync.
  func unexplainedPause(_ now: ClockReading) -> Duration? {
    guard unexplained > Self.maxUnexplained, let last = lastUnexplained, last + Self.minute > now.uptime else {
      return nil
    }
    return last + Self.minute - now.uptime
  }

  private static let maxUnexplained = 8
  private static let minute = Duration.seconds(60)
}
