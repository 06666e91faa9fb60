import FoundationEssentials

/// An HTTP proxy, spoken to without TLS.
package struct ProxyServer: Sendable, Hashable {
  /// Without the brackets of an IPv6 address.
  package var host: String
  /// 1 to 65535.
  package var port: Int
  /// `Proxy-Authorization`; nil: none is sent.
  package var authorization: ProxyAuthorization?
  /// Where it can be mended: `upstream.proxy`, or an environment variable.
  package var setting: String

  /// It need not be there.
  package init(host: String, port: Int, authorization: ProxyAuthorization? = nil, setting: String) {
    self.host = host
    self.port = port
    self.authorization = authorization
    self.setting = setting
  }

  /// As it may be shown.
  package var url: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension ProxyServer: CustomStringConvertible {
  /// The URL.
  package var description: String { url }
}

/// User and password for a proxy: whatever prints or dumps it sees "***" (T9).
package struct ProxyAuthorization: Sendable, Hashable {
  private let pair: String

  /// A user without a password has an empty one.
  package init(user: String, password: String) { pair = "\(user):\(password)" }

  /// The credentials of HTTP Basic (RFC 7617): for the request that needs them, and for nothing else.
  package func reveal() -> String { Data(pair.utf8).base64EncodedString() }
}

extension ProxyAuthorization: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always the same.
  package var description: String { "***" }
  /// Always the same.
  package var debugDescription: String { description }
  /// Shows nothing.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
