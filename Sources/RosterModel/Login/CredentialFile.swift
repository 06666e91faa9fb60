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
  package var isSentAsItIs: Bool { CredentialPlaceholder(rawValue: rawValue) != nil }
}

/// A text in braces that is replaced by a credential, a token or an assertion (T13.2).
package enum CredentialPlaceholder: String, Sendable, CaseIterable {
  case username, password
  case refreshToken = "refresh_token"
  case clientID = "client_id"
  case clientSecret = "client_secret"
  case accessToken = "access_token"
  /// An assertion that is signed for this request (`auth.jwt`).
  case jwt
  /// User and password as HTTP Basic encodes them (RFC 7617 §2).
  case basic

  /// The placeholder with its braces.
  package var text: String { "{\(rawValue)}" }

  /// The files that replace the placeholder; none for an assertion, which is signed for each request.
  package var files: [CredentialFile] {
    self == .basic ? [.username, .password] : CredentialFile(rawValue: rawValue).map { [$0] } ?? []
  }
}

extension JSONValue {
  /// The placeholders of all texts in it.
  package var placeholders: Set<CredentialPlaceholder> { Set(texts.flatMap(\.placeholders)) }
}

extension String {
  /// The placeholders in it.
  package var placeholders: Set<CredentialPlaceholder> {
    Set(CredentialPlaceholder.allCases.filter { contains($0.text) })
  }

  /// The text with each placeholder replaced by its value, once: a value that looks like a placeholder is not replaced
  /// again.
  package func filled(_ value: (CredentialPlaceholder) -> String) -> String {
    var filled = ""
    var rest = self[...]
    while let brace = rest.firstIndex(of: "{") {
      filled += rest[..<brace]
      rest = rest[brace...]
      if let found = CredentialPlaceholder.allCases.first(where: { rest.hasPrefix($0.text) }) {
        filled += value(found)
        rest = rest.dropFirst(found.text.count)
      } else {
        filled += "{"
        rest = rest.dropFirst()
      }
    }
    return filled + rest
  }
}

extension JSONValue {
  /// The same value with each placeholder in its texts replaced.
  package func filled(_ value: (CredentialPlaceholder) -> String) -> JSONValue {
    replacingTexts { .text($0.filled(value)) }
  }
}
