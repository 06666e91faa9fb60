import FoundationEssentials
import RosterCore

/// The errors of this target, each worded once.
extension Failure {
  static let refreshing = "get a new access token"

  static func missingCredential(_ file: CredentialFile, settings: TokenSettings) -> Failure {
    unusable(file, settings: settings, cause: "the flow needs the credential \(file.rawValue), which does not exist")
  }

  static func unsendableCredential(_ file: CredentialFile, holding secret: Secret, settings: TokenSettings) -> Failure {
    let oddity = secret.oddity.map { ", and it \($0)" } ?? ""
    return unusable(
      file, settings: settings,
      cause: "it is empty or holds a byte that no HTTP header may carry (allowed: printable ASCII, one line)\(oddity)")
  }

  static func unfitForBasic(_ file: CredentialFile, settings: TokenSettings) -> Failure {
    unusable(
      file, settings: settings,
      cause: "it holds a control character\(file == .username ? " or a colon" : ""), which HTTP Basic cannot carry")
  }

  private static func unusable(_ file: CredentialFile, settings: TokenSettings, cause: String) -> Failure {
    Failure(
      .configuration, step: "use auth.flow = \"\(settings.flow.rawValue)\"", subject: settings.path(file.rawValue),
      cause: cause, hint: settings.mend(file.rawValue)
    ).with(.missingCredential)
  }

  static func ended(_ ending: Session.Ending, settings: TokenSettings) -> Failure {
    let settings = settings.isOfLogin(ending.file) ? settings.ofLogin : settings
    return Failure(
      .refused, step: refreshing, subject: settings.tokenURL.queryMasked, cause: ending.cause,
      hint: "\(settings.mend(ending.file)); if the fault was upstream's: rosterctl sync --retry-session"
    ).with(.session, [.file(settings.path(ending.file)), .address(settings.tokenURL.queryMasked)])
  }

  static func malformedAnswer(_ settings: TokenSettings) -> Failure {
    Failure(
      .refused, step: refreshing, subject: settings.tokenURL.queryMasked,
      cause: "upstream granted it with an answer that is not JSON; \(settings.renewal) may be used up",
      hint: "see what answers at \(settings.addressKey)"
    ).with(.tokenMalformed)
  }

  /// A fault of the configuration: the session stays.
  static func invalidScope(_ answer: String, settings: TokenSettings) -> Failure {
    let key = settings.exchange == nil ? "auth.scope" : settings.addressKey
    return Failure(
      .configuration, step: refreshing, subject: settings.tokenURL.queryMasked,
      cause: "upstream refuses the scope (\(answer))", hint: "set \(key) to a scope that upstream grants to this client"
    ).with(.tokenStatus, [.setting(key)])
  }

  /// A 2xx answer without a token that can be used. The request may have used up what it sent.
  static func incompleteAnswer(_ cause: String, settings: TokenSettings) -> Failure {
    Failure(
      .refused, step: refreshing, subject: settings.tokenURL.queryMasked,
      cause: "\(cause); \(settings.renewal) may be used up", hint: "see what answers at \(settings.addressKey)"
    ).with(.incomplete, [.address(settings.tokenURL.queryMasked)])
  }

  /// 400, 401 or 403 without a word about the grant or the client, as a gateway may send it.
  static func unexplainedRefusal(_ status: Int, of sent: String, said: String?, settings: TokenSettings) -> Failure {
    Failure(
      .refused, step: refreshing, subject: settings.tokenURL.queryMasked,
      cause:
        "upstream refuses \(sent) (\(status)\(said.map { ", \($0)" } ?? "")) without a known error code, so the session stays",
      hint: "see what answers at \(settings.addressKey); if \(sent) is invalid, \(settings.mendCredential)",
      reason: .status(status)
    ).with(.tokenStatus)
  }

  static func otherAnswer(_ status: Int, said: String?, settings: TokenSettings) -> Failure {
    Failure(
      .refused, step: refreshing, subject: settings.tokenURL.queryMasked,
      cause: "upstream answered \(status)\(said.map { ", \($0)" } ?? "")",
      hint: "see whether \(settings.addressKey) is right", reason: .status(status)
    ).with(.tokenStatus)
  }

  /// Credentials are not sent to an address that an answer names.
  static func moved(_ status: Int, to address: String, settings: TokenSettings) -> Failure {
    let what = [301, 308].contains(status) ? "the address has moved to" : "a redirect to"
    return Failure(
      .refused, step: refreshing, subject: settings.tokenURL.queryMasked,
      cause:
        "upstream answered \(status), \(what) \(address), and rosterd sends credentials to no address of an answer",
      hint: "if upstream's documentation names that address, set \(settings.addressKey) to it", reason: .status(status)
    ).with(.tokenStatus)
  }

  /// Retries are used up, or Retry-After asks for more patience than `max_retry_after`.
  /// - Parameter proxy: what is wrong with it, where it is not token_url that is to be looked at.
  static func exhausted(
    _ reason: Failure.Reason, said: String? = nil, proxy: Failure?, attempts: Int, retryAfter: Duration?,
    unanswered: Bool,
    settings: TokenSettings
  ) -> Failure {
    let noAnswer = proxy?.cause ?? "no answer (\(reason.label))"
    let words = said.map { ", \($0)," } ?? ""
    let what = if case .status(let code) = reason { "upstream answered \(code)\(words)" } else { noAnswer }
    let times = attempts == 1 ? "1 attempt" : "\(attempts) attempts"
    let pause = retryAfter.map { ", and wants no request for \(Int($0.seconds.rounded(.up))) s" } ?? ""
    // 403 passes only as a rate limit.
    let isRateLimit = [.status(429), .status(403)].contains(reason)
    let hint =
      isRateLimit
      ? "that is a rate limit: wait; if it recurs, see what else uses these credentials, and whether upstream wants another User-Agent or header (auth.headers)"
      : nil
    return Failure(
      .unreachable, step: refreshing, subject: settings.tokenURL.queryMasked,
      cause: "\(what) after \(times)\(pause)\(unanswered ? "; \(settings.mayHaveRotated)" : "")",
      hint: proxy?.hint ?? hint ?? "see whether \(settings.addressKey) is up", reason: reason, retryAfter: retryAfter
    ).with(isRateLimit ? .rateLimit : .tokenUnreachable)
  }

  /// The token server wants no request yet, and for longer than `max_retry_after`.
  static func paused(until: Date, retryAfter: Duration, settings: TokenSettings) -> Failure {
    Failure(
      .unreachable, step: refreshing, subject: settings.tokenURL.queryMasked,
      cause: "upstream wants no request before \(until.rfc3339) (Retry-After)",
      hint:
        "the next sync waits for it, at most a day; if upstream is wrong, stop rosterd and remove paused from \(settings.storePath)",
      retryAfter: retryAfter
    ).with(.held, [.header("Retry-After")])
  }

  /// 401 with `none`, `static` or `basic`, which have nothing to refresh.
  static func notRenewable(
    _ settings: TokenSettings, refusal: TokenRefusal = TokenRefusal(), oddities: String = ""
  ) -> Failure {
    guard settings.flow.sendsToken else {
      return Failure(
        .refused, step: "read from upstream", subject: settings.baseOrigin,
        cause: "upstream asks for a token (\(refusal.text)), and auth.flow is \"\(settings.flow.rawValue)\"",
        hint: "set auth.flow to what upstream takes"
      ).with(.noCredential, [.setting("auth.flow")])
    }
    let token =
      settings.flow.source == .userAndPassword
      ? "username and password" : settings.sentBesideToken.isEmpty ? "access token" : "credentials"
    return Failure(
      .refused, step: "read from upstream", subject: settings.baseOrigin,
      cause: "upstream refuses the \(token) (\(refusal.text))\(oddities)",
      hint: settings.mendSent + settings.sentPlace
    ).with(.credential, [.file(settings.path(settings.credential.rawValue))])
  }

  /// A static token whose own `exp` has passed.
  static func outlived(_ token: Token, now: Date, settings: TokenSettings, oddities: String) -> Failure {
    Failure(
      .refused, step: "read from upstream", subject: settings.baseOrigin,
      cause:
        "upstream refuses the access token, which expired at \(token.expiresAt?.rfc3339 ?? "an unknown time") (this machine's time is \(now.rfc3339))\(oddities)",
      hint: settings.mend(CredentialFile.accessToken.rawValue)
    ).with(.outlived, [.file(settings.path(CredentialFile.accessToken.rawValue))])
  }

  static func freshTokenRefused(_ settings: TokenSettings, refusal: TokenRefusal) -> Failure {
    if settings.flow.signsToken { return freshAssertionRefused(settings) }
    let scope = settings.exchange == nil ? ["auth.scope"] : []
    let hint =
      refusal.key.map { "see whether \($0) names answers that are not about the token" }
      ?? "see whether base_url and \(settings.addressKey) belong together\(scope.map { ", and what \($0) allows" }.joined())"
    return Failure(
      .refused, step: "read from upstream", subject: settings.baseOrigin,
      cause: "upstream refuses (\(refusal.text)) an access token that it has just granted",
      hint: hint + settings.sentPlace
    ).with(.freshRefused, ((refusal.key.map { [$0] } ?? []) + [settings.addressKey] + scope).map { .setting($0) })
  }

  /// The request did not go through, and another attempt would not either.
  static func unsent(_ fault: Failure, settings: TokenSettings) -> Failure {
    fault.ofStep(refreshing, subject: settings.tokenURL.queryMasked)
  }

  /// `Send` promises the failure of a request. The text of any other error is not shown, because it may contain
  /// secrets.
  static func sendDefect(_ error: any Error, settings: TokenSettings) -> Failure {
    Failure(
      .defect, step: refreshing, subject: settings.tokenURL.queryMasked, cause: "an error of type \(type(of: error))",
      hint: "report it")
  }

  static func loggedOut(_ status: Int, settings: TokenSettings) -> Failure {
    Failure(
      .refused, step: "read from upstream", subject: settings.baseOrigin,
      cause: "a page request was answered \(status), which auth.logout_status names",
      hint: !settings.flow.sendsToken
        ? "set auth.flow"
        : settings.mendCredential
          + (settings.flow.refreshes ? "; if the fault was upstream's: rosterctl sync --retry-session" : "")
    ).with(.loggedOut, [.setting("auth.logout_status")])
  }

  static let stopping = Failure(
    .cancelled, step: refreshing, subject: "auth", cause: "rosterd is stopping")

  /// The answer is kept in memory.
  static func unstored(_ error: any Error, path: String) -> Failure {
    store(
      "store the new token", path: path, cause: storeCause(error),
      hint:
        "repair that; a running rosterd keeps the token in memory and stores it with the next sync, so do not restart it before; if it has ended, the token is lost, and perhaps the session"
    )
  }

  /// The store cannot be written, so no token was replaced: the new one would be lost.
  static func unnoted(_ error: any Error, path: String) -> Failure {
    store(
      "replace the token", path: path, cause: storeCause(error),
      hint: "repair that; no token request was sent, so the session is unchanged")
  }

  /// A note for the next process could not be stored; the tokens on disk are unchanged.
  static func unkept(_ error: any Error, path: String) -> Failure {
    store("note how the last token request ended", path: path, cause: storeCause(error))
  }

  private static func storeCause(_ error: any Error) -> String {
    (error as? Failure).map { "cannot \($0.step) (\($0.subject)): \($0.cause)" } ?? "it cannot be encoded"
  }

  static func store(
    _ step: String, path: String, cause: String, hint: String? = nil
  ) -> Failure {
    Failure(.cannotWrite, step: step, subject: path, cause: cause, hint: hint).with(.tokenStore)
  }
}

extension TokenSettings {
  /// A clause with the forms of a client that some servers want instead; empty where there is no other form.
  func clientAdvice(_ credentials: Credentials) -> String {
    guard flow.identifiesClient, client == .basic, let secret = credentials.clientSecret else { return "" }
    let isEncoded = [credentials.clientID ?? secret, secret].contains { $0.reveal().formEncoded != $0.reveal() }
    let raw = isEncoded ? "\"basic_raw\" or " : ""
    return "; if both files are right, upstream may want auth.client = \(raw)\"body\""
  }

  /// A clause with the place of the sent token; empty for the usual ones.
  fileprivate var sentPlace: String {
    if places == [.bearer] || places == [.basic] { return "" }
    let shown = places.map { place in
      switch place.carrier {
      case .header: "the header \(place.name)"
      case .parameter: "the parameter \(place.name)"
      case .body: "the member \(place.name) of a body"
      }
    }
    return
      "; \(sentBesideToken.isEmpty ? "the token was" : "credentials were") sent in \(shown.joined(separator: ", "))"
  }

  /// Name of the token that a token request replaces.
  var renewal: String { renewed == .accessToken ? "the access token" : "the refresh token" }

  /// The settings of a login of `exchange`, whose messages name its address.
  var ofLogin: TokenSettings {
    guard let url = exchange?.login?.url else { return self }
    var settings = self
    settings.tokenURL = url
    settings.exchange?.refresh = nil
    return settings
  }

  /// True if only the login of `exchange` sends this credential.
  fileprivate func isOfLogin(_ file: String) -> Bool {
    exchange?.login != nil && loginCredential?.rawValue == file && !refreshFiles.contains { $0.rawValue == file }
  }

  /// The key that names where tokens come from.
  var addressKey: String {
    exchange.map { $0.refresh == nil ? "auth.login.url" : "auth.refresh.url" } ?? flow.addressKey
  }

  var mayHaveRotated: String { "upstream may have rotated \(renewal) in an attempt whose answer never came" }

  /// The file to correct: for a service the one that systemd loads the credential from.
  func path(_ file: String) -> String {
    if credentialsDirectory.isEmpty { return file }
    return ServiceCredentials(directory: credentialsDirectory)?.source(of: file) ?? "\(credentialsDirectory)/\(file)"
  }

  var mendCredential: String {
    credential == .password ? mend(["username", "password"]) : mend(credential.rawValue)
  }

  /// The remedy for an answer that may mean any credential of the request.
  fileprivate var mendSent: String {
    sentBesideToken.isEmpty ? mendCredential : mend(fixedFiles.map(\.rawValue))
  }

  /// An imperative: which files, and the command that makes them count.
  func mend(_ file: String) -> String { mend([file]) }

  private func mend(_ files: [String]) -> String {
    let names = files.joined(separator: " and ")
    if credentialsDirectory.isEmpty {
      return "set auth.credentials_dir, put a valid \(names) there, then reload (or start) rosterd"
    }
    return ServiceCredentials(directory: credentialsDirectory)?.advice("put a valid \(names)", for: files)
      ?? "put a valid \(path(names)) and reload (or start) rosterd"
  }
}
