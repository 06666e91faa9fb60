import FoundationEssentials
import RosterCore

/// The facts about a token request that has ended.
struct RefreshAttempt: Sendable {
  let settings: TokenSettings
  /// The settings with the address that was requested.
  private let asked: TokenSettings
  let credentials: Credentials
  let turn: TokenMachine.Turn
  let usedRefreshToken: Bool
  /// A login of `exchange`.
  let logsIn: Bool
  /// Passing refusals of such a login before this one.
  private let passingRefusals: Int
  /// Texts that no message may show of a token server's answer.
  private let secrets: [Secret]
  /// Oddities of the credential files, as clauses.
  private let oddities: String
  /// An earlier attempt had no answer.
  let followsUnanswered: Bool
  let now: Date
  /// In 0..<1, for the jitter.
  let random: Double
  /// nil if the request had no assertion, or the answer no `Date`.
  private let clock: ClockComparison?

  /// - Parameters:
  ///   - assertion: that of the request; nil without `auth.jwt`.
  ///   - response: nil if there was no answer.
  init(
    _ attempt: TokenMachine.Attempt, assertion: Assertion? = nil, response: Response? = nil, now: Date, random: Double
  ) {
    settings = attempt.setup.settings
    var credentials = attempt.setup.credentials
    credentials.assertion = assertion
    self.credentials = credentials
    turn = attempt.turn
    passingRefusals = attempt.session.passingRefusals
    logsIn = attempt.session.logsIn(settings)
    asked = logsIn ? settings.ofLogin : settings
    usedRefreshToken = attempt.session.hasReplaceableToken && !logsIn
    oddities = credentials.oddities(attempt.setup.settings, session: attempt.session)
    secrets = credentials.secrets + attempt.session.secrets
    followsUnanswered = attempt.session.isUnanswered
    self.now = now
    self.random = random
    clock = settings.sendsAssertion(logsIn: logsIn) ? response?.clockComparison(now: now) : nil
  }

  /// A fault for the machine, and the `reason` of `token.failed`.
  typealias Fault = (fault: TokenMachine.Fault, label: String)

  /// The fault for an error instead of a grant. The reason of a failed request decides whether it is temporary.
  func fault(_ error: any Error) -> Fault {
    switch error {
    case let refusal as GrantRefusal: fault(refusal)
    case let fault as Failure where fault.exchange != nil: self.fault(fault)
    default: (.other(.sendDefect(error, settings: asked)), "other")
    }
  }

  private func fault(_ refusal: GrantRefusal) -> Fault {
    switch refusal {
    case .refused(let status, let said, isFinal: true): refused(status, said: said)
    case .refused(let status, let said, isFinal: false):
      sendsPassword || said?.error == Self.invalidScope || clock?.explainsRefusal == true
        ? refused(status, said: said) : unexplainedRefusal(status, said: said)
    case .incomplete(let field, let said):
      incomplete("\(field) is missing in the answer or cannot be sent in a header\(clause(said))", said: said)
    case .tooLarge:
      incomplete("its tokens are larger than the token store may become (\(TokenStore.maxText))", said: nil)
    case .malformed: (.unexplained(.malformedAnswer(asked)), "malformed")
    case .other(let status, let said):
      (.other(.otherAnswer(status, said: said?.shown(hiding: secrets), settings: asked)), "other")
    case .moved(let status, let address): (.other(.moved(status, to: shown(address), settings: asked)), "other")
    case .passing(let status, _, let retryAfter, isRefusal: true) where sendsPassword:
      postponed(status, refusal: refusal, retryAfter: retryAfter)
    case .passing(let status, let said, let retryAfter, let isRefusal):
      passing(
        .status(status), said: said, retryAfter: retryAfter,
        delivery: status == 408 || status >= 500 ? .lost : .answered, isRepeated: !isRefusal)
    }
  }

  /// The address that a Location header has, without its query and without credentials.
  private func shown(_ address: String) -> String {
    let url = URL(written: asked.tokenURL).flatMap { URL(written: address, relativeTo: $0)?.absoluteString } ?? address
    let whole = String(url.userMasked.prefix { !"?#".contains($0) })
    return [whole].masking(secrets.map { $0.reveal() }).joined().printable
  }

  /// A login with a password. Trying that again may lock the account.
  private var sendsPassword: Bool { logsIn && settings.loginPlaceholders.contains(.password) }

  private static let maxPostponed = 3
  /// A fault of the configuration.
  private static let invalidScope = "invalid_scope"

  /// The next attempt comes after a pause that doubles; after three of them the refusal counts.
  private func postponed(_ status: Int, refusal: GrantRefusal, retryAfter: Duration?) -> Fault {
    guard passingRefusals < Self.maxPostponed, case .passing(_, let said, _, _) = refusal else {
      if case .passing(_, let said, _, _) = refusal { return refused(status, said: said) }
      return refused(status, said: nil)
    }
    let pause = max(retryAfter ?? .zero, settings.retryInterval * (1 << passingRefusals))
    let failure = Failure.exhausted(
      .status(status), said: said?.shown(hiding: secrets), proxy: nil, attempts: 1, retryAfter: pause,
      unanswered: false, settings: asked)
    return (.postponed(failure), "passing")
  }

  private func fault(_ fault: Failure) -> Fault {
    switch fault.reason {
    case .connection, .dns, .tls, .timeout, .truncated:
      passing(
        fault.reason ?? .connection, retryAfter: nil, delivery: fault.exchange?.isUnsent == true ? .unsent : .lost,
        proxy: fault.exchange?.isOfProxy == true ? fault : nil)
    case .malformed, .tooLarge, .partialAnswer: (.unexplained(.malformedAnswer(asked)), "malformed")
    case .status, .rateLimit, .clientCertificate, nil: (.other(.unsent(fault, settings: asked)), "other")
    }
  }

  private func passing(
    _ reason: Failure.Reason, said: ServerStatement? = nil, retryAfter: Duration?, delivery: TokenMachine.Delivery,
    isRepeated: Bool = true, proxy: Failure? = nil
  ) -> Fault {
    let failure = Failure.exhausted(
      reason, said: said?.shown(hiding: secrets), proxy: proxy, attempts: turn.number, retryAfter: retryAfter,
      unanswered: usedRefreshToken && (followsUnanswered || delivery == .lost), settings: asked)
    let delay = isRepeated ? delay(after: delivery, retryAfter: retryAfter) : nil
    return (.passing(failure, delay: delay, delivery: delivery), "passing")
  }

  /// The pause before the next attempt; nil if none follows in this sync. A lost answer is asked for again at
  /// once, because servers accept a replaced refresh token for 10 to 30 s only.
  private func delay(after delivery: TokenMachine.Delivery, retryAfter: Duration?) -> Duration? {
    let delay = settings.retry.delay(afterAttempt: turn.number, retryAfter: retryAfter, random: random)
    switch delivery {
    case .unsent: return delay
    case .lost where retryAfter == nil: return turn.isReplay ? nil : .zero
    case .lost, .answered: return turn.isReplay ? nil : delay
    }
  }

  private func clause(_ said: ServerStatement?) -> String {
    said.map { " (\($0.shown(hiding: secrets)))" } ?? ""
  }

  private func refused(_ status: Int, said: ServerStatement?) -> Fault {
    let isClient = blamesClient(said)
    let rotated = followsUnanswered && usedRefreshToken ? "; \(settings.mayHaveRotated)" : ""
    let answer = said.map { "\(status), \($0.shown(hiding: secrets))" } ?? "\(status)"
    // A public client has no secret.
    let client = settings.assertion?.keyFile ?? (credentials.clientSecret == nil ? .clientID : .clientSecret)
    let file = isClient ? client : logsIn ? settings.credential : settings.renewed
    let form = isClient ? settings.clientAdvice(credentials) : ""
    let skew = clock.map { "; \($0.clause)" } ?? ""
    let ending = ending(
      "upstream refuses \(isClient ? "the client" : sent) (\(answer))\(rotated)\(form)\(skew)", file: file)
    if said?.error == Self.invalidScope { return (.other(.invalidScope(answer, settings: asked)), "other") }
    if let clock, clock.explainsRefusal { return (.other(.refusedByClock(ending, settings: asked)), "refused") }
    return (.refused(ending), "refused")
  }

  /// The session stays. The clocks may be the reason, as far as upstream does not say otherwise.
  private func unexplainedRefusal(_ status: Int, said: ServerStatement?) -> Fault {
    var failure = Failure.unexplainedRefusal(
      status, of: sent, said: said?.shown(hiding: secrets), settings: asked)
    if let clock { failure.cause += "; \(clock.clause)" }
    return (.unexplained(failure), "refused")
  }

  private func blamesClient(_ said: ServerStatement?) -> Bool {
    settings.flow.identifiesClient && (said?.about == .client || !usedRefreshToken)
  }

  /// Name of what the request sent.
  private var sent: String { logsIn ? "the login" : usedRefreshToken ? settings.renewal : "the client" }

  /// A 2xx answer without a usable token. Some servers refuse a password in this way.
  private func incomplete(_ what: String, said: ServerStatement?) -> Fault {
    let cause = "upstream granted it, but \(what)"
    guard !sendsPassword else {
      return (.refused(ending(cause, file: settings.credential)), "incomplete")
    }
    return (.unexplained(.incompleteAnswer(cause, settings: asked)), "incomplete")
  }

  private func ending(_ cause: String, file: CredentialFile) -> Session.Ending {
    Session.Ending(
      at: now, cause: cause + oddities, file: file.rawValue, tried: Session.tried(settings, credentials: credentials))
  }
}
