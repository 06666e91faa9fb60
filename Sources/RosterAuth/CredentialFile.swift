import FoundationEssentials
import RosterModel

/// The files of `credentials_dir`, by their names.
package enum CredentialFile: String, Sendable, CaseIterable {
  case username, password
  case refreshToken = "refresh_token"
  case clientID = "client_id"
  case clientSecret = "client_secret"
  case accessToken = "access_token"
  case privateKey = "private_key"
  case privateKeyPassphrase = "private_key_passphrase"
  case hmacKey = "hmac_key"

  /// True for a text that a request may contain; false for keys that sign.
  package var isSentAsItIs: Bool {
    switch self {
    case .username, .password, .refreshToken, .clientID, .clientSecret, .accessToken: true
    case .privateKey, .privateKeyPassphrase, .hmacKey: false
    }
  }

  var isToken: Bool { self == .refreshToken || self == .accessToken }
}

extension TokenExchange.Placeholder {
  /// The files that replace the placeholder; none for an assertion, which is signed for each request.
  var files: [CredentialFile] {
    switch self {
    case .username: [.username]
    case .password: [.password]
    case .refreshToken: [.refreshToken]
    case .clientID: [.clientID]
    case .clientSecret: [.clientSecret]
    case .accessToken: [.accessToken]
    case .basic: [.username, .password]
    case .jwt: []
    }
  }
}

extension Credentials {
  subscript(file: CredentialFile) -> Secret? {
    switch file {
    case .refreshToken: refreshToken
    case .accessToken: accessToken
    case .clientID: clientID
    case .clientSecret: clientSecret
    case .username: username
    case .password: password
    case .privateKey: privateKey
    case .privateKeyPassphrase: privateKeyPassphrase
    case .hmacKey: hmacKey
    }
  }
}

extension Credentials {
  /// The content of the files that replace a placeholder; nil if one does not exist, and for an assertion.
  func value(of placeholder: TokenExchange.Placeholder) -> Secret? {
    placeholder == .basic ? basicPair : placeholder.files.first.flatMap { self[$0] }
  }

  /// User and password as HTTP Basic encodes them (RFC 7617 §2); nil without a user.
  var basicPair: Secret? {
    username.map { Secret(Data("\($0.reveal()):\(password?.reveal() ?? "")".utf8).base64EncodedString()) }
  }

  /// The contents that `auth.send` names, beside the access token.
  func sent(_ settings: TokenSettings) -> [TokenExchange.Placeholder: Secret] {
    settings.sentBesideToken.reduce(into: [:]) { $0[$1] = value(of: $1) }
  }
}
