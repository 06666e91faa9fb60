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
  }

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
    return "\(put) \(place), then systemctl reload-or-restart \(name)"
  }

  /// The name in LoadCredential= of rosterd.service, rosterd@.service and the example rosterd-sync.service.
  private func identifier(of credential: String) -> String? {
    if ["rosterd", "rosterd-sync"].contains(name) { return "rosterd.\(credential)" }
    guard name.hasPrefix("rosterd@") else { return nil }
    return "rosterd.\(name.dropFirst("rosterd@".count)).\(credential)"
  }

  private static let suffix = ".service"
}
