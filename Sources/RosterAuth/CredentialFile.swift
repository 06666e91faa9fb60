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

  var isToken: Bool { self == .refreshToken || self == .accessToken }
}

extension TokenExchange.Placeholder {
  /// The file that replaces the placeholder; nil for an assertion, which is signed for each request.
  var file: CredentialFile? {
    switch self {
    case .username: .username
    case .password: .password
    case .refreshToken: .refreshToken
    case .clientID: .clientID
    case .clientSecret: .clientSecret
    case .accessToken: .accessToken
    case .jwt: nil
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
