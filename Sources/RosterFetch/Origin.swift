import FoundationEssentials

/// Scheme, host and port of an http(s) URL (RFC 6454 §4): what decides where a token may go (T8).
package struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// `http` or `https`.
  package let scheme: String
  /// Without the brackets of an IPv6 address, as a connection is made to it.
  package let host: String
  /// The scheme's own where the URL names none.
  package let port: Int

  /// nil where the text is no absolute http or https URL with a host.
  package init?(url: String) {
    guard let url = URL(string: url), let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased(),
      let standard = Self.ports[scheme], !host.isEmpty
    else { return nil }
    self.scheme = scheme
    self.host = host
    port = url.port ?? standard
  }

  /// `scheme://host:port`.
  package var description: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  private static let ports = ["http": 80, "https": 443]
}
