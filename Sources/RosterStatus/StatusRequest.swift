package import RosterCore

/// One request to the status socket.
package struct StatusRequest: Sendable, Equatable {
  /// The method as sent, for example `GET`.
  package var method: String
  /// The request target: a path and a query, or an absolute URL (RFC 9112 §3.2).
  package var target: String
  /// The headers in the order of their arrival.
  package var headers: [Request.Header] = []
  /// The whole body, within the limit; empty if the request has no body.
  package var body: [UInt8] = []
  /// The user id of the client (SO_PEERCRED, unix(7)); nil if the kernel does not report it.
  package var peer: UInt32?
  /// True if the client understands chunks (RFC 9112 §7.1).
  package var isHTTP11 = true

  /// The first header of that name, which must be in lower case; nil if the header is missing.
  package func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name }?.value
  }

  /// All headers of that name, which must be in lower case.
  func values(of name: String) -> [String] { headers.filter { $0.name.lowercased() == name }.map(\.value) }

  /// The target's path, with percent escapes decoded.
  var path: String { Self.unescape(parts.path) }

  /// The first value of a query parameter, with percent escapes decoded; nil if the parameter is missing.
  func query(_ name: String) -> String? {
    for pair in parts.query.split(separator: "&") {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if Self.unescape(halves[0]) == name { return halves.count > 1 ? Self.unescape(halves[1]) : "" }
    }
    return nil
  }

  /// The first query parameter with another name than these; nil if all have one of them.
  func queryParameter(otherThan names: [String]) -> String? {
    parameterNames.first { !names.contains($0) }
  }

  /// The first query parameter that occurs again; nil if each occurs once.
  var repeatedParameter: String? {
    var seen: Set<String> = []
    return parameterNames.first { !seen.insert($0).inserted }
  }

  private var parameterNames: [String] {
    parts.query.split(separator: "&").map { Self.unescape($0.prefix { $0 != "=" }) }
  }

  /// The host and port of a target that is an absolute URL; nil if the target is a path.
  var targetAuthority: String? { Self.origin(of: target[...]).map { String($0.authority) } }

  private var parts: (path: Substring, query: Substring) {
    let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = halves.first.map { Self.origin(of: $0)?.path ?? $0 } ?? "/"
    return (path, halves.count > 1 ? halves[1] : "")
  }

  private static func origin(of target: Substring) -> (authority: Substring, path: Substring)? {
    // A path begins with a slash, and any scheme with a letter (RFC 3986 §3.1).
    guard target.first != "/", let scheme = target.firstRange(of: "://") else { return nil }
    let rest = target[scheme.upperBound...]
    let path = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
    return (rest.prefix { $0 != "/" && $0 != "?" }, path)
  }

  private static func unescape(_ text: Substring) -> String {
    String(decoding: text.utf8.percentDecoded(), as: UTF8.self)
  }
}

/// Requests that another web site causes in a browser. Such a site can reach a socket that a port of loopback
/// leads to. It uses a name that its owner points at 127.0.0.1 (DNS rebinding), or an address on its pages.
extension StatusRequest {
  /// The reason why the request is refused; nil if no other site can have caused it.
  /// - Parameter isMonitoring: true for the paths of scrapers and probes, which know this machine by any name.
  func crossSiteRefusal(isMonitoring: Bool) -> String? {
    let scraper = isMonitoring && header("accept-language") == nil
    if !scraper, let name = authorities.first(where: { !Self.isLoopback($0) }) {
      return "the Host \(name) is no name of loopback, as another web site's would be; "
        + "ask for localhost, 127.0.0.1 or [::1]"
    }
    let own = authorities.map { "http://" + $0.lowercased() }
    if let origin = values(of: "origin").first(where: { !own.contains($0.lowercased()) }) {
      return "the request comes from another web site (Origin: \(origin)); only this socket's own page may send it"
    }
    let site = values(of: "sec-fetch-site").first { $0 != "same-origin" && $0 != "none" }
    if let site, !opensPage {
      return
        "the request comes from another web site (Sec-Fetch-Site: \(site)); only this socket's own page may send it"
    }
    return nil
  }

  /// The hosts and ports that the client names: those of Host, and of a target that is a whole URL.
  private var authorities: [String] { values(of: "host") + [targetAuthority].compactMap { $0 } }

  /// True if the user followed a link on another site, which cannot read what the user then sees.
  private var opensPage: Bool {
    path == "/" && method == "GET" && header("sec-fetch-mode") == "navigate" && header("sec-fetch-dest") == "document"
  }

  /// True also for an empty name: a client without a name for the socket sends it, and a browser never does.
  private static func isLoopback(_ authority: String) -> Bool {
    let end =
      authority.hasPrefix("[")
      ? authority.firstIndex(of: "]").map(authority.index(after:)) : authority.firstIndex(of: ":")
    let host = authority[..<(end ?? authority.endIndex)]
    let port = authority[host.endIndex...]
    guard port.isEmpty || port.first == ":" && port.dropFirst().utf8.allSatisfy(\.isDigit) else { return false }
    return ["", "localhost", "[::1]"].contains(host.lowercased()) || isLoopbackIPv4(host)
  }

  /// 127.0.0.0/8
  private static func isLoopbackIPv4(_ host: Substring) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127"
      && parts.allSatisfy { $0.utf8.allSatisfy(\.isDigit) && UInt8($0) != nil }
  }
}
