internal import RosterModel

/// Requests that another web site causes in a browser (S10). Such a site can reach a socket that a port of loopback
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
