import FoundationEssentials
import RosterCore

/// Scheme, host and port of an http(s) URL (RFC 6454 §4), which decide where a token may be sent.
package struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// `http` or `https`.
  package let scheme: String
  /// The host without the brackets of an IPv6 address, as a connection needs it.
  package let host: String
  /// The port; the scheme's default if the URL names none.
  package let port: Int

  /// nil if the text is not an absolute http or https URL with a host, or if its port is too long for a number.
  package init?(url text: String) {
    guard let url = URL(written: text), let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased(),
      let standard = Self.ports[scheme], !host.isEmpty
    else { return nil }
    if url.port == nil, Self.namesPort(text) { return nil }
    self.scheme = scheme
    self.host = host
    port = url.port ?? standard
  }

  /// True if a port follows the host; a colon alone is not a port (RFC 3986 §3.2.3).
  private static func namesPort(_ url: String) -> Bool {
    let behindHost = authority(of: url)?.split(separator: "]", omittingEmptySubsequences: false).last
    return behindHost?.drop { $0 != ":" }.count ?? 0 > 1
  }

  /// `scheme://host:port`.
  package var description: String { "\(scheme)://\(authority)" }

  /// Host and port in the form of a CONNECT (RFC 9112 §3.2.3).
  var authority: String { "\(bracketed):\(port)" }

  /// Host and port in the form of `Host`, without the scheme's default port (RFC 9110 §4.2.3).
  var hostField: String { port == Self.ports[scheme] ? bracketed : authority }

  private var bracketed: String { host.contains(":") ? "[\(host)]" : host }

  /// The host without the dot that ends an absolute name: certificates and SNI have none (RFC 6066 §3).
  var absoluteHost: String { host.hasSuffix(".") ? String(host.dropLast()) : host }

  /// The name that SNI sends; nil if the host is an address (RFC 6066 §3).
  var serverName: String? { IPAddress.bytes(absoluteHost) == nil ? absoluteHost : nil }

  /// The authority of an absolute URL as written, without user and password.
  static func authority(of url: String) -> Substring? {
    guard let start = url.firstRange(of: "://")?.upperBound else { return nil }
    let written = url[start...].prefix { !"/?#".contains($0) }
    guard let user = written.lastIndex(of: "@") else { return written }
    return written[written.index(after: user)...]
  }

  private static let ports = ["http": 80, "https": 443]
}
