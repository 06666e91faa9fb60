import Glibc
import RosterCore
import RosterDefinition
import RosterFetch

extension Configuration {
  /// Reads the client certificate and its key; nil if none is configured.
  /// - Throws: a `Conflict` that names the key at fault.
  func clientCertificate() throws(ClientCertificateProblem) -> ClientCertificate? {
    let tls = upstream.tls
    let credential = auth.credentialsDir.isEmpty ? nil : "\(auth.credentialsDir)/\(Self.keyCredential)"
    let keyCredential = credential.flatMap { fileStatus($0) == nil ? nil : $0 }
    guard !tls.certFile.isEmpty else {
      guard keyCredential == nil else { throw .certificate("the credential client_key needs a cert_file") }
      return nil
    }
    guard tls.keyFile.isEmpty || keyCredential == nil else {
      throw .key("there are both a key_file and the credential client_key")
    }
    guard let keyFile = tls.keyFile.isEmpty ? keyCredential : tls.keyFile else {
      throw .certificate("a cert_file needs a key_file or the credential client_key")
    }
    if !tls.keyFile.isEmpty, let mode = fileStatus(keyFile)?.st_mode, mode & S_IROTH != 0 {
      let cause = "can be read by other users than its owner and group: chmod o= \(keyFile)"
      throw .key("\(keyFile.tomlString) \(cause)", file: keyFile)
    }
    let chain: [UInt8]
    let key: [UInt8]
    do throws(SystemError) { chain = try contents(of: tls.certFile, limit: Self.maxPairBytes) } catch {
      throw .certificate("\(tls.certFile.tomlString) cannot be read: \(error.text)", file: tls.certFile)
    }
    do throws(SystemError) { key = try contents(of: keyFile, limit: Self.maxPairBytes) } catch {
      throw .key("\(keyFile.tomlString) cannot be read: \(error.text)", file: keyFile)
    }
    do { return try ClientCertificate(chain: chain, key: key) } catch {
      throw ClientCertificateProblem(error, certificate: tls.certFile, key: keyFile)
    }
  }

  /// The client certificate with the origins that it is presented to; nil if none is configured.
  func clientIdentity() throws(ClientCertificateProblem) -> ClientIdentity? {
    guard let certificate = try clientCertificate() else { return nil }
    let addresses =
      [upstream.baseURL, resolvedTokenURL, exchange?.login?.url, resolvedDeviceURL] + resources.map(\.baseURL)
    return ClientIdentity(certificate, origins: Set(addresses.compactMap { $0.flatMap { Origin(url: $0) } }))
  }

  /// nil if the pair can be used, or none is configured.
  var clientCertificateConflict: Conflict? {
    do { _ = try clientCertificate() } catch { return error.conflict }
    return nil
  }

  private static let keyCredential = "client_key"
  private static let maxPairBytes = 1 << 20
}

/// A fault of the client certificate or its key.
struct ClientCertificateProblem: Error {
  var conflict: Conflict
  /// The file at fault; nil if the configuration is.
  var file: String?

  private init(_ key: String, problem: String, allowed: String, file: String?) {
    self.file = file
    conflict = Conflict(
      keys: ["upstream.tls.\(key)", "upstream.tls.cert_file", "upstream.tls.key_file"], problem: problem,
      allowed: allowed)
  }

  static func certificate(_ problem: String, file: String? = nil) -> Self {
    Self(
      "cert_file", problem: problem, allowed: "a PEM chain, leaf first, with its key in key_file or in client_key",
      file: file)
  }

  static func key(_ problem: String, file: String? = nil) -> Self {
    Self("key_file", problem: problem, allowed: "one unencrypted PEM key that belongs to cert_file", file: file)
  }

  static func weak(_ problem: String, file: String) -> Self {
    Self(
      "cert_file", problem: problem,
      allowed: "ECDSA keys or RSA keys of at least 2048 bits, signed with SHA-256 or better; its issuer makes one",
      file: file)
  }

  init(_ flaw: ClientCertificate.Flaw, certificate: String, key: String) {
    self =
      switch flaw {
      case .noCertificate:
        .certificate("\(certificate.tomlString) holds no certificate that can be read", file: certificate)
      case .noKey: .key("\(key.tomlString) holds no private key that can be read", file: key)
      case .encryptedKey:
        .key("\(key.tomlString) is encrypted: openssl pkey -in \(key) writes it without a passphrase", file: key)
      case .weak(let cause): .weak("\(certificate.tomlString) is too weak: \(cause)", file: certificate)
      case .mismatch:
        .key("\(key.tomlString) does not belong to the certificate in \(certificate.tomlString)", file: key)
      }
  }

  /// The pair became bad since it was checked.
  var failure: Failure {
    Failure(
      .configuration, step: "read \(conflict.keys.first ?? "")", subject: file ?? "client certificate",
      cause: conflict.problem,
      hint: "mend it: it is read again before the next sync")
  }
}
