import FoundationEssentials

/// An HTTP proxy, contacted without TLS.
package struct ProxyServer: Sendable, Hashable {
  /// The host without the brackets of an IPv6 address.
  package var host: String
  /// The port, 1 to 65535.
  package var port: Int
  /// The value of `Proxy-Authorization`; nil to send none.
  package var authorization: ProxyAuthorization?
  /// The place where the user can correct it: `upstream.proxy`, or an environment variable.
  package var setting: String

  /// The proxy is not contacted.
  package init(host: String, port: Int, authorization: ProxyAuthorization? = nil, setting: String) {
    self.host = host
    self.port = port
    self.authorization = authorization
    self.setting = setting
  }

  /// The URL, without credentials.
  package var url: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension ProxyServer: CustomStringConvertible {
  /// The URL, without credentials.
  package var description: String { url }
}

/// User and password of a proxy. Every printed or dumped form is "***" (T9).
package struct ProxyAuthorization: Sendable, Hashable {
  private let pair: String

  /// A user without a password gets an empty one.
  package init(user: String, password: String) { pair = "\(user):\(password)" }

  /// The credentials of HTTP Basic (RFC 7617), to be used only in the request to the proxy.
  package func reveal() -> String { Data(pair.utf8).base64EncodedString() }
}

extension ProxyAuthorization: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always "***".
  package var description: String { "***" }
  /// Always "***".
  package var debugDescription: String { description }
  /// Shows no members.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
