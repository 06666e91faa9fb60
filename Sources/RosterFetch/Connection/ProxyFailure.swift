import RosterModel

/// Failures at the proxy: no byte of the request has reached upstream. They are treated like a failed connection (P11).
extension ProxyServer {
  /// The proxy could not be reached.
  func failed(by failure: Failure) -> Failure {
    failed(
      failure.reason, cause: "is out of reach: \(failure.cause)",
      hint: "see whether it is up, and whether \(setting) is right")
  }

  /// The proxy opens no tunnel to that origin, or requires credentials. 401 is a status of upstream, but tinyproxy too
  /// sends it for a CONNECT with a wrong password.
  func failed(status: Int, tunnel origin: Origin) -> Failure {
    guard status == Self.wantsCredentials || status == 401 else {
      return failed(.connection, cause: "opens no tunnel to \(origin.authority) (\(status))")
    }
    let demand = authorization == nil ? "wants a user and a password" : "refuses the user and the password"
    return failed(
      .connection, cause: "\(demand) (\(status))",
      hint: "put the right ones into \(setting): http://USER:PASSWORD@\(url.dropFirst("http://".count))")
  }

  /// The proxy ended the connection instead of opening a tunnel, or its answer is not HTTP.
  var closed: Failure { failed(.connection, cause: "opens no tunnel") }
  /// The proxy did not answer by the deadline.
  var silent: Failure { failed(.timeout, cause: "did not answer in time") }

  private func failed(_ reason: Failure.Reason?, cause: String, hint: String? = nil) -> Failure {
    let usual =
      "see in its log why; where upstream can be reached without it: upstream.proxy = \"none\", or its host in NO_PROXY"
    var failure = Failure(.unreachable, cause: "the proxy \(self) \(cause)", hint: hint ?? usual, reason: reason)
      .with(.proxy)
    failure.exchange?.isOfProxy = true
    failure.exchange?.isUnsent = true
    return failure
  }

  /// Only proxies send this status (RFC 9110 §15.5.8).
  fileprivate static let wantsCredentials = 407
}

extension Response {
  /// True if a proxy refused to relay the request because of its credentials. A 401 is the proxy's if its challenge is
  /// a proxy's (RFC 9110 §11.7.1). It is also the proxy's if tinyproxy itself answers: answers that tinyproxy relays
  /// have `Via` (RFC 9110 §7.6.3).
  var isProxyRefusal: Bool {
    guard status == 401 else { return status == ProxyServer.wantsCredentials }
    let isOwn = self["Via"] == nil && self["Server"]?.lowercased().hasPrefix("tinyproxy") == true
    return isOwn || self["Proxy-Authenticate"] != nil
  }
}
