import Crypto
import FoundationEssentials
import NIOCore
import NIOSSL

/// `upstream.tls.pins`: keys of which the server must have one, besides a chain that is trusted.
struct Pins: Sendable {
  /// SHA-256 of a SubjectPublicKeyInfo each.
  private let digests: Set<Data>

  /// What is no pin can be met by no key.
  init(_ pins: [String]) {
    digests = Set(pins.map { Data(base64Encoded: String($0.dropFirst(Self.prefix.count))) ?? Data() })
  }

  /// The handshake is over. Throws a `PinMismatch`.
  func verify(_ channel: any Channel) throws {
    guard !digests.isEmpty, let tls = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    else {
      return
    }
    guard let key = try tls.peerCertificate?.extractPublicKey().toSPKIBytes() else { throw PinMismatch(found: "none") }
    let digest = Data(SHA256.hash(data: key))
    guard digests.contains(digest) else { throw PinMismatch(found: Self.prefix + digest.base64EncodedString()) }
  }

  private static let prefix = "sha256/"
}

/// The server has a key that is not pinned.
struct PinMismatch: Error {
  /// As a pin is written.
  var found: String
}
