import FoundationEssentials
import NIOSSL
import RosterAuth
import RosterModel

/// `upstream.tls.pins`: the server must have one of these keys, and a trusted chain.
struct Pins: Sendable {
  /// SHA-256 digests of SubjectPublicKeyInfo.
  private let digests: Set<Data>

  /// An invalid pin matches no key.
  init(_ pins: [String]) {
    digests = Set(pins.map { Data(base64Encoded: String($0.dropFirst(Self.prefix.count))) ?? Data() })
  }

  /// Throws a `Failure`.
  /// - Parameter certificate: the server's own certificate.
  func verify(_ certificate: NIOSSLCertificate) throws {
    if digests.isEmpty { return }
    let digest = Data(sha256(try certificate.extractPublicKey().toSPKIBytes()))
    guard digests.contains(digest) else { throw Failure.unpinned(Self.prefix + digest.base64EncodedString()) }
  }

  private static let prefix = "sha256/"
}
