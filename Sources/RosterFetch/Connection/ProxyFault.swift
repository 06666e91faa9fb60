import RosterModel

/// The request failed at the proxy: no byte of it has reached upstream.
struct ProxyFault: Error {
  enum Kind {
    /// The proxy could not be reached.
    case unreachable(Failure)
    /// The proxy opens no tunnel to that origin, or requires credentials.
    case refused(Int, Origin)
    /// The proxy ended the connection instead of opening a tunnel, or its answer is not HTTP.
    case closed
    case silent
  }

  var proxy: ProxyServer
  var kind: Kind

  /// Only proxies send this status (RFC 9110 §15.5.8).
  static let wantsCredentials = 407

  /// 401 is a status of upstream, but tinyproxy too sends it for a CONNECT with a wrong password.
  private static func blamesCredentials(_ status: Int) -> Bool { status == wantsCredentials || status == 401 }

  /// The fault is treated like a failed connection (P11).
  var fault: Failure {
    var fault = Failure(.unreachable, cause: "the proxy \(proxy) \(cause)", hint: hint, reason: reason)
      .with(.proxy)
    fault.exchange?.isOfProxy = true
    fault.exchange?.isUnsent = true
    return fault
  }

  private var reason: Failure.Reason? {
    switch kind {
    case .unreachable(let fault): fault.reason
    case .silent: .timeout
    case .refused, .closed: .connection
    }
  }

  private var cause: String {
    switch kind {
    case .unreachable(let fault): "is out of reach: \(fault.cause)"
    case .refused(let status, _) where Self.blamesCredentials(status):
      "\(proxy.authorization == nil ? "wants a user and a password" : "refuses the user and the password") (\(status))"
    case .refused(let status, let origin): "opens no tunnel to \(origin.authority) (\(status))"
    case .closed: "opens no tunnel"
    case .silent: "did not answer in time"
    }
  }

  private var hint: String {
    switch kind {
    case .unreachable: "see whether it is up, and whether \(proxy.setting) is right"
    case .refused(let status, _) where Self.blamesCredentials(status):
      "put the right ones into \(proxy.setting): http://USER:PASSWORD@\(proxy.url.dropFirst("http://".count))"
    case .refused, .silent, .closed:
      "see in its log why; where upstream can be reached without it: upstream.proxy = \"none\", or its host in NO_PROXY"
    }
  }
}

extension Response {
  /// True if a proxy refused to relay the request because of its credentials. A 401 is the proxy's if its challenge is
  /// a proxy's (RFC 9110 §11.7.1). It is also the proxy's if tinyproxy itself answers: answers that tinyproxy relays
  /// have `Via` (RFC 9110 §7.6.3).
  var isProxyRefusal: Bool {
    guard status == 401 else { return status == ProxyFault.wantsCredentials }
    let isOwn = self["Via"] == nil && self["Server"]?.lowercased().hasPrefix("tinyproxy") == true
    return isOwn || self["Proxy-Authenticate"] != nil
  }
}
