import Crypto
import FoundationEssentials
import RosterModel

/// What the credential files started and the refreshes carried on: the content of the token store.
struct Session: Sendable, Equatable {
  /// What its tokens were got for; they belong to nothing else (T8).
  struct Binding: Sendable, Equatable {
    var flow: String
    var clientID: String?
    var baseOrigin: String
    var tokenOrigin: String
  }

  /// What requests can do with it.
  enum Standing: Sendable, Equatable {
    case token(IssuedToken)
    /// It needs a token first: it has none, or upstream has refused the one that it had.
    case absent, refused
    case ended(Ending)
  }

  /// Why it ended (T6).
  struct Ending: Sendable, Equatable {
    var at: Date
    /// A clause, no secret in it.
    var cause: String
    /// The credential file to mend.
    var file: String
    /// Digest of all that decides whether another try is worth a request.
    var tried: String
  }

  var binding: Binding
  /// Digests of the credential bytes that it began with, by file name.
  var began: [String: String]
  var standing: Standing
  var refreshToken: Secret?
  /// A request with this refresh token brought no answer: upstream may have rotated it (T5).
  var isUnanswered = false
}

extension Session {
  var access: IssuedToken? {
    if case .token(let issued) = standing { issued } else { nil }
  }

  var ending: Ending? {
    if case .ended(let ending) = standing { ending } else { nil }
  }

  /// A request that used it has no answer. Returns whether that is worth a note: the refresh token may have been
  /// rotated unseen.
  mutating func noteUnanswered() -> Bool {
    guard refreshToken != nil, !isUnanswered else { return false }
    isUnanswered = true
    return true
  }

  /// As an answer carries it on.
  func granted(_ answer: GrantAnswer) -> Session {
    Session(
      binding: binding, began: began, standing: .token(answer.issued),
      refreshToken: answer.refreshToken ?? refreshToken)
  }
}

extension Session.Binding {
  init(_ settings: TokenSettings, _ credentials: Credentials) {
    flow = settings.flow.rawValue
    clientID = settings.flow.identifiesClient ? credentials.clientID?.reveal() : nil
    baseOrigin = settings.baseOrigin
    tokenOrigin = settings.tokenOrigin
  }
}

extension Session {
  /// What the credential files mean for the session that is.
  enum Change: Equatable {
    case none
    /// It had ended, and something changed that may mend it.
    case lift
    case begin(Session)
  }

  /// Throws `Failure` 78 where the flow lacks a credential, or has one that cannot be sent.
  static func change(
    from current: Session?, _ settings: TokenSettings, _ credentials: Credentials
  ) throws(Failure) -> Change {
    try credentials.check(settings, stored: current?.belongs(to: settings, credentials) == true ? current : nil)
    guard let current, current.fits(settings, credentials) else {
      return .begin(Session(settings, credentials))
    }
    return current.isMended(by: settings, credentials) ? .lift : .none
  }

  init(_ settings: TokenSettings, _ credentials: Credentials) {
    binding = Binding(settings, credentials)
    began = credentials.sessionDigests
    let access = credentials.accessToken.map { token in
      let times = JWTTimes(token)
      return IssuedToken(access: token, obtainedAt: times?.issued, expiresAt: times?.expiry)
    }
    standing = access.map { .token($0) } ?? .absent
    // The client's own grant needs none from a file: only one that upstream sends is used (CONTRACT 3).
    refreshToken = settings.flow == .oauth2ClientCredentials ? nil : credentials.refreshToken
  }

  /// Whether it goes on with these.
  func fits(_ settings: TokenSettings, _ credentials: Credentials) -> Bool {
    belongs(to: settings, credentials) && !isOutdated(by: credentials)
  }

  private func belongs(to settings: TokenSettings, _ credentials: Credentials) -> Bool {
    binding == Binding(settings, credentials)
  }

  /// A file that went away changes nothing: the store stands in for it.
  private func isOutdated(by credentials: Credentials) -> Bool {
    credentials.sessionDigests.contains { began[$0.key] != $0.value }
  }

  /// Whether something has changed since it ended. A file that went away since is no change: it cannot mend anything.
  private func isMended(by settings: TokenSettings, _ credentials: Credentials) -> Bool {
    guard let ending else { return false }
    let files = credentials.digests
    return [files, files.merging(began) { file, _ in file }].allSatisfy { Self.tried(settings, $0) != ending.tried }
  }

  /// A change of any of these lifts an ended session (T6).
  static func tried(_ settings: TokenSettings, _ credentials: Credentials) -> String {
    tried(settings, credentials.digests)
  }

  private static func tried(_ settings: TokenSettings, _ digests: [String: String]) -> String {
    let files = digests.map { "\($0.key)=\($0.value)" }.sorted()
    let parts = files + [settings.flow.rawValue, settings.tokenURL, settings.scope]
    return digest(Secret(parts.joined(separator: "\n")))
  }

  static func digest(_ secret: Secret) -> String {
    SHA256.hash(data: Data(secret.reveal().utf8)).reduce(into: "") { text, byte in
      text += (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
    }
  }
}

extension Credentials {
  /// Of the files' bytes, by name.
  fileprivate var digests: [String: String] {
    [
      CredentialFile.refreshToken: refreshToken, .accessToken: accessToken, .clientID: clientID,
      .clientSecret: clientSecret,
    ].reduce(into: [:]) { $0[$1.key.rawValue] = $1.value.map(Session.digest) }
  }

  /// Those that start a session; the client's id is part of the binding, and a new secret alone keeps the tokens (T10).
  fileprivate var sessionDigests: [String: String] {
    digests.filter { $0.key == CredentialFile.refreshToken.rawValue || $0.key == CredentialFile.accessToken.rawValue }
  }

  fileprivate func check(_ settings: TokenSettings, stored: Session?) throws(Failure) {
    switch settings.flow {
    case .none: return
    case .static: try require(accessToken, .accessToken, settings)
    case .oauth2Refresh, .authenticateForm, .bearerRefresh:
      try require(refreshToken ?? stored?.refreshToken, .refreshToken, settings)
    case .oauth2ClientCredentials:
      try require(clientID, .clientID, settings)
      try require(clientSecret, .clientSecret, settings)
    }
    if settings.flow == .bearerRefresh { try requireSendable(refreshToken, .refreshToken, settings) }
    try requireSendable(accessToken, .accessToken, settings)
  }

  private func require(_ secret: Secret?, _ file: CredentialFile, _ settings: TokenSettings) throws(Failure) {
    if secret?.reveal().isEmpty ?? true { throw .missingCredential(file, settings) }
  }

  private func requireSendable(_ secret: Secret?, _ file: CredentialFile, _ settings: TokenSettings) throws(Failure) {
    if let secret, !secret.fitsHeader { throw .unsendableCredential(file, settings) }
  }
}

/// The files of `credentials_dir`.
enum CredentialFile: String {
  case refreshToken = "refresh_token"
  case accessToken = "access_token"
  case clientID = "client_id"
  case clientSecret = "client_secret"
}
