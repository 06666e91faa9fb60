import FoundationEssentials
import RosterModel

/// The failure of a token request, as the machine and the event need it.
struct RefreshFault: Sendable, Equatable {
  var fault: TokenMachine.Fault
  /// `reason` of `token.failed`.
  var label: String
  var failure: Failure
}

/// The facts about a token request that has ended.
struct RefreshAttempt: Sendable {
  let settings: TokenSettings
  /// The settings with the address that was requested.
  private let asked: TokenSettings
  let credentials: Credentials
  /// 1 is the first.
  let number: Int
  let usedRefreshToken: Bool
  /// A login of `exchange` (T13.3).
  let logsIn: Bool
  /// Texts that no message may show of a token server's answer (T14.1).
  private let secrets: [Secret]
  /// Oddities of the credential files, as clauses.
  private let oddities: String
  /// An earlier attempt had no answer (T5).
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
    number = attempt.number
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

  /// The fault for an error instead of a grant. The reason of a `RequestFault` decides whether it is temporary (T5).
  func fault(_ error: any Error) -> RefreshFault {
    switch error {
    case let refusal as GrantRefusal: fault(refusal)
    case let fault as RequestFault: self.fault(fault)
    default: other(.sendDefect(error, settings: asked), label: "other")
    }
  }

  private func fault(_ refusal: GrantRefusal) -> RefreshFault {
    switch refusal {
    case .refused(let status, let said): refused(status, said: said)
    case .incomplete(let field, let said):
      incomplete("\(field) is missing in the answer or cannot be sent in a header\(clause(said))")
    case .tooLarge: incomplete("its tokens are larger than the token store may become (\(TokenStore.maxText))")
    case .malformed: malformed
    case .other(let status, let said):
      other(.otherAnswer(status, said: said?.shown(hiding: secrets), settings: asked), label: "other")
    case .passing(let reason, let retryAfter): passing(reason, retryAfter: retryAfter, answered: true)
    }
  }

  private func fault(_ fault: RequestFault) -> RefreshFault {
    switch fault.reason {
    case .connection, .dns, .tls, .timeout, .truncated:
      passing(
        fault.reason ?? .connection, retryAfter: nil, answered: fault.isUnsent, proxy: fault.isOfProxy ? fault : nil)
    case .malformed, .tooLarge: other(.malformedAnswer(asked), label: "malformed")
    case .status, .rateLimit, .clientCertificate, nil: other(.unsent(fault, settings: asked), label: "other")
    }
  }

  private func passing(
    _ reason: Failure.Reason, retryAfter: Duration?, answered: Bool, proxy: RequestFault? = nil
  ) -> RefreshFault {
    let failure = Failure.exhausted(
      reason, proxy: proxy, attempts: number, retryAfter: retryAfter,
      unanswered: usedRefreshToken && (followsUnanswered || !answered), settings: asked)
    let delay = settings.retry.delay(afterAttempt: number, retryAfter: retryAfter, random: random)
    return RefreshFault(
      fault: .passing(failure, delay: delay, answered: answered), label: "passing", failure: failure)
  }

  private func clause(_ said: ServerStatement?) -> String {
    said.map { " (\($0.shown(hiding: secrets)))" } ?? ""
  }

  private func refused(_ status: Int, said: ServerStatement?) -> RefreshFault {
    let error = said?.error
    let blamesClient = error == "invalid_client" || error == "unauthorized_client" || !usedRefreshToken
    let isClient = settings.flow.identifiesClient && blamesClient
    let what = isClient ? "the client" : logsIn ? "the login" : settings.renewal
    let rotated = followsUnanswered && usedRefreshToken ? "; \(settings.mayHaveRotated)" : ""
    let answer = said.map { "\(status), \($0.shown(hiding: secrets))" } ?? "\(status)"
    // A public client has no secret.
    let client = settings.assertion?.keyFile ?? (credentials.clientSecret == nil ? .clientID : .clientSecret)
    let file = isClient ? client : logsIn ? settings.credential : settings.renewed
    if error == "invalid_scope" { return other(.invalidScope(answer, settings: asked), label: "other") }
    let form = isClient ? settings.clientAdvice(credentials) : ""
    let skew = clock.map { "; \($0.clause)" } ?? ""
    let ending = ending("upstream refuses \(what) (\(answer))\(rotated)\(form)\(skew)", file: file)
    if let clock, clock.explainsRefusal { return other(.refusedByClock(ending, settings: asked), label: "refused") }
    return RefreshFault(fault: .refused(ending), label: "refused", failure: .ended(ending, settings: settings))
  }

  private func incomplete(_ what: String) -> RefreshFault {
    let ending = ending("upstream granted it, but \(what)", file: settings.credential)
    let failure = Failure.ended(ending, settings: settings).with(.incomplete)
    return RefreshFault(fault: .incomplete(ending), label: "incomplete", failure: failure)
  }

  private func ending(_ cause: String, file: CredentialFile) -> Session.Ending {
    Session.Ending(
      at: now, cause: cause + oddities, file: file.rawValue, tried: Session.tried(settings, credentials: credentials))
  }

  private var malformed: RefreshFault {
    let failure = Failure.malformedAnswer(asked)
    return RefreshFault(fault: .malformed(failure), label: "malformed", failure: failure)
  }

  private func other(_ failure: Failure, label: String) -> RefreshFault {
    RefreshFault(fault: .other(failure), label: label, failure: failure)
  }
}
