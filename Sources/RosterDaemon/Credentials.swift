import Glibc
package import RosterAuth
package import RosterCore
package import RosterDefinition
import RosterFetch

extension Credentials {
  /// Reads the credential files of a folder. A missing file gives nil, and an empty `folder` gives nil for all.
  /// - Throws: 78 for a file that exists and cannot be used.
  package init(folder: String) throws(Failure) {
    try self.init { folder.isEmpty ? nil : "\(folder)/\($0)" }
  }

  /// - Parameter path: the file of a credential; nil if it has none.
  init(path: (String) -> String?) throws(Failure) {
    self.init()
    refreshToken = try Self.secret("refresh_token", path("refresh_token"))
    accessToken = try Self.secret("access_token", path("access_token"))
    clientID = try Self.secret("client_id", path("client_id"))
    clientSecret = try Self.secret("client_secret", path("client_secret"))
    username = try Self.secret("username", path("username"))
    password = try Self.secret("password", path("password"))
    privateKey = try Self.secret("private_key", path("private_key"))
    privateKeyPassphrase = try Self.secret("private_key_passphrase", path("private_key_passphrase"))
    hmacKey = try Self.secret("hmac_key", path("hmac_key"))
  }

  /// True if an empty file is a credential.
  static func mayBeEmpty(_ name: String) -> Bool { ["password", "client_secret"].contains(name) }

  /// systemd allows one megabyte for all credentials of a unit (systemd.exec(5)); tokens are far smaller.
  static let maxBytes = 64 * 1024

  private static func hint(for error: SystemError) -> String {
    switch error.code {
    case EFBIG: "write only the credential into it; at most \(maxBytes) bytes are read"
    case EISDIR, EINVAL: "replace it by a file with the credential"
    default: "see whether rosterd's user may read it"
    }
  }

  private static func secret(_ name: String, _ path: String?) throws(Failure) -> Secret? {
    guard let path else { return nil }
    let bytes: [UInt8]
    func unusable(_ cause: String, hint: String) -> Failure {
      self.unusable(name, path: path, cause: cause, hint: hint)
    }
    if parentFolder(of: path).hasSuffix(".encrypted") {
      throw unusable(
        "it is encrypted, and only systemd reads it", hint: "decrypt it with systemd-creds(1) into auth.credentials_dir"
      )
    }
    do {
      bytes = try contents(of: path, limit: maxBytes)
    } catch  where error.code == ENOENT {
      return nil
    } catch {
      throw unusable(error.text, hint: hint(for: error))
    }
    guard let text = text(bytes) else {
      let isKey = name == "private_key"
      throw unusable(
        "it is not text",
        hint: isKey
          ? "convert it to PEM: openssl pkey -inform DER -in FILE, or openssl pkcs12 -nodes -in FILE"
          : "write only the credential into it")
    }
    guard mayBeEmpty(name) || !isEmpty(bytes) else {
      throw unusable("it is empty", hint: "write the credential into it, or remove it")
    }
    return Secret(isEmpty(bytes) ? "" : text)
  }

  /// The credential in the bytes of its file; nil if they are not text.
  static func text(_ bytes: [UInt8]) -> String? {
    guard var text = String(validating: bytes, as: UTF8.self) else { return nil }
    // Swift counts CR LF as one character.
    if text.last?.isNewline == true { text.removeLast() }
    return text
  }

  /// True if the bytes are line ends alone, which are no credential.
  static func isEmpty(_ bytes: [UInt8]) -> Bool {
    String(validating: bytes, as: UTF8.self)?.allSatisfy(\.isNewline) == true
  }

  /// Under systemd the file in `folder` is a copy: the message names the original, which the user can correct.
  private static func unusable(_ name: String, path: String, cause: String, hint: String) -> Failure {
    let service = ServiceCredentials(directory: parentFolder(of: path))
    return Failure(
      .configuration, step: "read a credential", subject: service?.source(of: name) ?? path,
      cause: cause, hint: service?.advice("put a valid \(name)", for: [name]) ?? hint
    ).with(.missingCredential)
  }
}

extension Configuration {
  /// Reads the key of `auth.jwt`, if this user can, and lets it sign.
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

extension Configuration {
  /// Like `load`, and checks the certificates of `upstream.tls.ca_file`, which only the transport can read.
  package static func loadChecked(
    file: String?, again known: String? = nil, environment: [String: String], isRoot: Bool = geteuid() == 0
  ) throws(ConfigurationFaults) -> (configuration: Configuration, warnings: [String]) {
    let (configuration, warnings) = try load(
      file: file, again: known, environment: environment, isRoot: isRoot
    ) { configuration in
      let caFile = configuration.caFileProblem.map {
        Conflict(keys: ["upstream.tls.ca_file"], problem: $0, allowed: "a readable PEM bundle")
      }
      return [caFile, configuration.clientCertificateConflict].compactMap { $0 }
    }
    return (configuration, warnings + [configuration.systemRootsProblem].compactMap(\.self))
  }

  /// A sentence; nil if `SSL_CERT_FILE` is not used, or if it has valid certificates. The check takes some milliseconds
  /// and megabytes, so it is skipped if all addresses are `http`.
  private var systemRootsProblem: String? {
    guard asksByTLS, upstream.tls.caFile.isEmpty, let path = upstream.tls.systemRoots.file else { return nil }
    return problem(ofCertificatesAt: path).map { "SSL_CERT_FILE is ignored: \($0)" }
  }

  private var asksByTLS: Bool {
    ([upstream.baseURL, resolvedTokenURL ?? ""] + resources.compactMap(\.baseURL)).contains {
      Origin(url: $0)?.scheme == "https"
    }
  }

  /// A clause; nil if there is no problem.
  private var caFileProblem: String? {
    let path = upstream.tls.caFile
    return path.isEmpty ? nil : problem(ofCertificatesAt: path)
  }

  private func problem(ofCertificatesAt path: String) -> String? {
    do throws(SystemError) { _ = try contents(of: path, limit: Self.maxBytesOfCertificates) } catch {
      return "\(path.tomlString) cannot be read: \(error.text)"
    }
    do { _ = try CABundle(path: path) } catch { return "\(path.tomlString) cannot be used: \(error.cause)" }
    return nil
  }

  /// Far above real bundles: that of Debian has a quarter of a megabyte.
  private static let maxBytesOfCertificates = 16 * 1024 * 1024
}
