import NIOCore
import NIOSSL
import RosterModel

/// Whether a server is the one that was asked for (RFC 9110 §4.3.4): a certificate for its name where it has one, else
/// for its address.
///
/// NIOSSL takes one for the host's name, or for the address that the connection leads to. That says nothing of the
/// server: behind a tunnel it is the proxy's, and whoever answers for the name in DNS has one for his own.
struct ServerIdentity: Sendable {
  private let host: String
  /// nil: the host is a name.
  private let address: [UInt8]?

  init(_ origin: Origin) {
    host = origin.host
    address = IPAddress.bytes(origin.host)
  }

  /// What NIOSSL can verify: the chain always, of the host its name.
  var verification: CertificateVerification { address == nil ? .fullVerification : .noHostnameVerification }

  /// The handshake is over. Throws as NIOSSL does.
  func verify(_ channel: any Channel) throws {
    let tls = try channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    guard let certificate = tls.peerCertificate else { throw NIOSSLExtraError.failedToValidateHostname }
    let names = CertifiedNames(certificate)
    if let address {
      guard names.addresses.contains(address) else { throw NIOSSLExtraError.failedToValidateHostname }
    } else if let peer = channel.remoteAddress?.ipAddress.flatMap(IPAddress.bytes), names.addresses.contains(peer) {
      guard names.hosts.contains(where: matches) else { throw NIOSSLExtraError.failedToValidateHostname }
    }
  }

  /// RFC 9525 §6.3: label by label, of which the first may be `*`.
  private func matches(_ pattern: String) -> Bool {
    let labels = host.lowercased().split(separator: ".")
    let wanted = pattern.lowercased().split(separator: ".")
    guard labels.count == wanted.count, let first = wanted.first else { return false }
    return (first == "*" ? labels.count > 2 : first == labels[0]) && labels.dropFirst() == wanted.dropFirst()
  }
}

/// The subjectAltName of a certificate (RFC 5280 §4.2.1.6).
private struct CertifiedNames {
  var hosts: [String] = []
  var addresses: [[UInt8]] = []

  init(_ certificate: NIOSSLCertificate) {
    for name in certificate._subjectAlternativeNames() {
      switch name.nameType {
      case .dnsName: hosts.append(String(decoding: name.contents, as: UTF8.self))
      case .ipAddress: addresses.append(Array(name.contents))
      default: break
      }
    }
  }
}
