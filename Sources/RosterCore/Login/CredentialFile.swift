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

/// A text in braces that is replaced by a credential, a token or an assertion.
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

/// The origin of a systemd service's credentials. systemd copies them into a folder that only systemd writes, so a
/// message about that folder would name a file that the user cannot correct.
package struct ServiceCredentials: Sendable, Equatable {
  /// The service: `rosterd.service`, `rosterd@NAME.service`.
  package let unit: String

  /// nil if systemd did not make the folder: `$CREDENTIALS_DIRECTORY` is `…/credentials/UNIT`.
  package init?(directory: String) {
    let parts = directory.split(separator: "/")
    guard let unit = parts.last, unit.hasSuffix(Self.suffix), parts.dropLast().last == "credentials" else { return nil }
    self.unit = String(unit)
    isOfUser = directory.hasPrefix("/run/user/")
  }

  /// True if a user's own service manager made the folder. It does not read the package's credential files.
  private let isOfUser: Bool

  /// The unit without `.service`.
  package var name: String { String(unit.dropLast(Self.suffix.count)) }

  /// The file from which the package's units load this credential; nil for units of others.
  package func source(of credential: String) -> String? {
    identifier(of: credential).map { "/etc/credstore/\($0)" }
  }

  /// The file for a credential that systemd-creds(1) encrypted.
  package func encryptedSource(of credential: String) -> String? {
    identifier(of: credential).map { "/etc/credstore.encrypted/\($0)" }
  }

  /// An imperative: the place for the credentials, and the command that makes systemd load them. A reload loads them,
  /// too.
  package func advice(_ put: String, for credentials: [String]) -> String {
    let sources = credentials.compactMap(source(of:)).joined(separator: " and ")
    let encrypted = credentials.compactMap(encryptedSource(of:)).joined(separator: " and ")
    let place =
      sources.isEmpty ? "where LoadCredential= of \(unit) names it" : "into \(sources) (encrypted: \(encrypted))"
    return "\(put) \(place), then systemctl \(isOfUser ? "--user " : "")reload-or-restart \(name)"
  }

  /// The name in LoadCredential= of rosterd.service, rosterd@.service and the example rosterd-sync.service.
  private func identifier(of credential: String) -> String? {
    if isOfUser { return nil }
    if ["rosterd", "rosterd-sync"].contains(name) { return "rosterd.\(credential)" }
    guard name.hasPrefix("rosterd@") else { return nil }
    return "rosterd.\(name.dropFirst("rosterd@".count)).\(credential)"
  }

  private static let suffix = ".service"
}
