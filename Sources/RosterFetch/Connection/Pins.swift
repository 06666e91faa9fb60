import Crypto
import FoundationEssentials
import NIOSSL

/// `upstream.tls.pins`: keys of which the server must have one, besides a chain that is trusted.
struct Pins: Sendable {
  /// SHA-256 of a SubjectPublicKeyInfo each.
  private let digests: Set<Data>

  /// What is no pin can be met by no key.
  init(_ pins: [String]) {
    digests = Set(pins.map { Data(base64Encoded: String($0.dropFirst(Self.prefix.count))) ?? Data() })
  }

  /// Throws a `PinMismatch`.
  /// - Parameter certificate: the server's own.
  func verify(_ certificate: NIOSSLCertificate) throws {
    if digests.isEmpty { return }
    let digest = Data(SHA256.hash(data: try certificate.extractPublicKey().toSPKIBytes()))
    guard digests.contains(digest) else { throw PinMismatch(found: Self.prefix + digest.base64EncodedString()) }
  }

  private static let prefix = "sha256/"
}

/// The server has a key that is not pinned.
struct PinMismatch: Error {
  /// As a pin is written.
  var found: String
}
