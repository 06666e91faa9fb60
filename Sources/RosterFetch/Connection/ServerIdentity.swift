import NIOSSL
import RosterModel

/// Verifies that a server is the requested one (RFC 9525): its certificate names the host, or its address if the host
/// is an address.
///
/// NIOSSL's own check also accepts a common name, `a*.example.test` and `*`. It accepts the address that the connection
/// leads to as well, which may be a proxy's. It refuses a host with an underscore.
struct ServerIdentity: Sendable {
  private let host: String
  /// Bytes of the IP address; nil if the host is a name.
  private let address: [UInt8]?

  init(_ origin: Origin) {
    host = origin.absoluteHost
    address = IPAddress.bytes(host)
  }

  /// Throws a `Failure` if the certificate is for another server.
  func verify(_ certificate: NIOSSLCertificate) throws {
    let names = CertifiedNames(certificate)
    if names.hosts.isEmpty && names.addresses.isEmpty { throw Failure.unnamedCertificate }
    if let address {
      if names.addresses.contains(address) { return }
    } else if names.hosts.contains(where: matches) {
      return
    }
    throw Failure.otherHost(host, named: names.texts)
  }

  /// Compares label by label (RFC 9525 §6.3). The first label of the pattern may be `*`, unless only a top-level domain
  /// follows.
  private func matches(_ pattern: [UInt8]) -> Bool {
    let labels = Self.labels(Array(host.utf8))
    let wanted = Self.labels(pattern)
    guard labels.count == wanted.count, !labels.contains([]) else { return false }
    if wanted[0] == [UInt8(ascii: "*")], labels.count > 2 { return labels.dropFirst() == wanted.dropFirst() }
    return labels == wanted
  }

  /// The labels, with ASCII letters in lower case.
  private static func labels(_ name: [UInt8]) -> [[UInt8]] {
    name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { label in
      label.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
  }
}
