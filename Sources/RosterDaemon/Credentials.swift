import Glibc
package import RosterAuth
import RosterFiles
package import RosterModel

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

  /// Under systemd the file in `folder` is a copy: the message names the original, which the user can correct (T16).
  private static func unusable(_ name: String, path: String, cause: String, hint: String) -> Failure {
    let service = ServiceCredentials(directory: parentFolder(of: path))
    return Failure(
      .configuration, step: "read a credential", subject: service?.source(of: name) ?? path,
      cause: cause, hint: service?.advice("put a valid \(name)", for: [name]) ?? hint
    ).with(.missingCredential)
  }
}
