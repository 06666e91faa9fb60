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

  /// True for a file that the answer of a token request may replace.
  package var isToken: Bool { self == .refreshToken || self == .accessToken }

  /// True for a text that a request may contain; false for keys that sign.
  package var isSentAsItIs: Bool { TokenExchange.Placeholder(rawValue: rawValue) != nil }
}

extension TokenExchange.Placeholder {
  /// The files that replace the placeholder; none for an assertion, which is signed for each request.
  package var files: [CredentialFile] {
    self == .basic ? [.username, .password] : CredentialFile(rawValue: rawValue).map { [$0] } ?? []
  }
}
