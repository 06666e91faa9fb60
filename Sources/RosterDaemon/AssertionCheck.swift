import RosterAuth
package import RosterConfiguration
package import RosterModel

extension Configuration {
  /// Reads the key of `auth.jwt`, if this user can, and lets it sign (T17.9).
  /// - Throws: 78 if it cannot sign.
  package func checkAssertionKey(stores: [String] = credentialStores) throws(Failure) {
    var settings = TokenSettings(self)
    if settings.credentialsDirectory.isEmpty, let unitName {
      // The messages then name the files that systemd loads.
      settings.credentialsDirectory = "/run/credentials/\(unitName).service"
    }
    func secret(_ file: CredentialFile) -> Secret? {
      places(of: file.rawValue, stores).first(where: Self.mayExist).flatMap(Self.text(at:)).map { Secret($0) }
    }
    let passphrase = CredentialFile.privateKeyPassphrase
    let isPassphraseHidden =
      secret(passphrase) == nil && places(of: passphrase.rawValue, stores).contains(where: Self.mayExist)
    if isPassphraseHidden { return }
    let credentials = Credentials(
      privateKey: secret(.privateKey), privateKeyPassphrase: secret(passphrase), hmacKey: secret(.hmacKey))
    try credentials.checkKey(settings)
  }

  /// A sentence about the claims that upstream is likely to miss; nil if no claim is missing.
  package var missingClaims: String? {
    guard auth.jwt.isSet else { return nil }
    let (needed, reason): ([String], String) =
      if auth.flow.identifiesClient {
        (["iss", "sub", "aud", "exp", "jti"], "RFC 7523 and OpenID Connect require of a client_assertion")
      } else if auth.login.body.texts.contains(Self.grantType) {
        (["iss", "aud", "exp"], "RFC 7523 requires of an assertion")
      } else { (auth.flow.usesTemplates ? ["exp"] : [], "most servers require") }
    let missing = needed.filter { auth.jwt.claims[$0] == nil }
    return missing.isEmpty ? nil : "auth.jwt.claims has no \(missing.joined(separator: ", ")), which \(reason)"
  }

  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
}
