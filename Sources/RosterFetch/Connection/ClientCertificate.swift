package import FoundationEssentials
import NIOCore
import NIOSSL
import RosterCore
import Synchronization

/// The certificate and the key with which this client identifies itself.
package struct ClientCertificate: Sendable, Equatable {
  /// A reason why a pair cannot be used.
  package enum Flaw: Error, Sendable, Equatable {
    case noCertificate, noKey, encryptedKey, mismatch
    /// The text names the certificate whose key or signature is too weak.
    case weak(String)
  }

  /// The certificates, leaf first.
  let chain: [NIOSSLCertificate]
  let key: NIOSSLPrivateKey
  /// Expiry of the leaf certificate.
  package let notAfter: Date

  /// Reads a chain and a key in PEM, and verifies that the key belongs to the first certificate. All certificates must
  /// be as strong as those of a server.
  package init(chain: [UInt8], key: [UInt8]) throws(Flaw) {
    guard let certificates = try? NIOSSLCertificate.fromPEMBytes(chain), let leaf = certificates.first else {
      throw .noCertificate
    }
    try Self.expectStrength(of: certificates)
    let text = String(decoding: key, as: UTF8.self)
    if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") { throw .encryptedKey }
    guard let privateKey = try? NIOSSLPrivateKey(bytes: key, format: .pem) else { throw .noKey }
    self.chain = certificates
    self.key = privateKey
    notAfter = Date(timeIntervalSince1970: Double(leaf.notValidAfter))
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.trustRoots = .certificates([])
    present(in: &configuration)
    // BoringSSL compares the two keys when it takes the second one.
    guard (try? NIOSSLContext(configuration: configuration)) != nil else { throw .mismatch }
  }

  /// The own signature of a root does not count. That of a client's certificate counts even if it is self-signed,
  /// because servers verify it.
  private static func expectStrength(of chain: [NIOSSLCertificate]) throws(Flaw) {
    for (place, certificate) in chain.enumerated() {
      guard let fields = try? CertificateFields(certificate) else { throw .noCertificate }
      let isRoot = place > 0 && fields.isSelfSigned
      if let fault = fields.weakness(isSignatureTrusted: isRoot) { throw .weak(fault.cause) }
    }
  }

  func present(in configuration: inout TLSConfiguration) {
    configuration.certificateChain = chain.map { .certificate($0) }
    configuration.privateKey = .privateKey(key)
  }
}

/// A client certificate and the origins that it is presented to.
package struct ClientIdentity: Sendable, Equatable {
  /// The certificate with its chain, and its private key.
  package var certificate: ClientCertificate
  /// Origins of base_url and of the token addresses.
  package var origins: Set<Origin>

  /// - Parameter origins: without the origins of proxies, which get no certificate.
  package init(_ certificate: ClientCertificate, origins: Set<Origin>) {
    self.certificate = certificate
    self.origins = origins
  }
}

/// The servers that requested a client certificate in the current handshake. BoringSSL calls this callback only after a
/// CertificateRequest, and NIOSSL offers no other way to see one.
final class CertificateRequests: Sendable {
  private let names = Mutex<Set<String>>([])

  /// Notes the server's name and changes nothing. Used as `TLSConfiguration.sslContextCallback`.
  func callback(_ values: NIOSSLClientExtensionValues, promise: EventLoopPromise<NIOSSLContextConfigurationOverride>) {
    names.withLock { _ = $0.insert(values.serverHostname ?? "") }
    promise.succeed(.noChanges)
  }

  /// True if the server of that name requested a certificate. The note is removed, for the next handshake.
  func take(_ serverName: String?) -> Bool {
    names.withLock { $0.remove(serverName ?? "") != nil }
  }
}

/// A TLS alert, or an answer of nginx, by which a server requires or refuses the client's certificate.
extension Failure {
  /// nil if the error is not such an alert. NIOSSL shows an alert only by its name in the error's text.
  /// - Parameter wasRequested: true if the server requested a certificate in this handshake. A general alert is then
  ///   about it.
  init?(clientCertificate error: any Error, wasRequested: Bool = false) {
    guard error is NIOSSLError || error is BoringSSLError else { return nil }
    let text = "\(error)"
    if let alert = Self.alerts.first(where: { text.contains($0.name) }) {
      self.init(clientCertificate: alert.cause)
    } else if wasRequested, text.contains("ALERT_HANDSHAKE_FAILURE") {
      self.init(clientCertificate: Self.required)
    } else {
      return nil
    }
  }

  /// nil for any other answer. With `ssl_verify_client` nginx completes the handshake, and then answers 400 with one of
  /// these titles.
  init?(clientCertificate response: Response) {
    guard response.status == 400 else { return nil }
    let start = String(decoding: response.body.prefix(512), as: UTF8.self)
    if start.contains("400 No required SSL certificate was sent") {
      self.init(clientCertificate: Self.required)
    } else if start.contains("400 The SSL certificate error") {
      self.init(clientCertificate: "the server refuses the client certificate")
    } else {
      return nil
    }
  }

  private init(clientCertificate cause: String) {
    self.init(
      .refused, cause: cause,
      hint:
        "name a certificate that upstream accepts in upstream.tls.cert_file, and its key in key_file or the credential client_key",
      reason: .clientCertificate)
  }

  private static let required = "the server requires a client certificate"

  private static let alerts: [(name: String, cause: String)] = [
    ("ALERT_CERTIFICATE_REQUIRED", required),
    ("ALERT_CERTIFICATE_EXPIRED", "the server refuses the client certificate: it has expired"),
    ("ALERT_CERTIFICATE_REVOKED", "the server refuses the client certificate: it was revoked"),
    ("ALERT_UNKNOWN_CA", "the server refuses the client certificate: it does not trust the authority that signed it"),
    ("ALERT_BAD_CERTIFICATE", "the server refuses the client certificate: it is invalid there"),
    ("ALERT_UNSUPPORTED_CERTIFICATE", "the server refuses the client certificate: it is not for clients"),
    ("ALERT_CERTIFICATE_UNKNOWN", "the server refuses the client certificate"),
    ("ALERT_ACCESS_DENIED", "the server knows the client certificate and denies access"),
  ]
}
