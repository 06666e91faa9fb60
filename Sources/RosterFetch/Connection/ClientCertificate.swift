package import FoundationEssentials
import NIOSSL
import RosterModel

/// The certificate and the key with which this client identifies itself (T15).
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

/// A client certificate and the origins that it is presented to (T15.1).
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
