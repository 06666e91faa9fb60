package import FoundationEssentials

/// Checks `base_url` and `token_url`. The messages do not repeat the address, which may contain a password.
package enum WebAddress {
  /// The mistake in the address; nil if it is valid.
  package static func mistake(in text: String, queryAllowed: Bool) -> String? {
    guard let parts = URLComponents(string: text, encodingInvalidCharacters: false) else {
      return hasASCIIHost(text) ? "is not a URL" : beyondASCII
    }
    guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      return "is neither http nor https"
    }
    guard let host = parts.host, !host.isEmpty else { return "names no host" }
    guard parts.user == nil, parts.password == nil else { return "holds a user or a password" }
    guard hasASCIIHost(text) else { return beyondASCII }
    guard queryAllowed || parts.query == nil else { return "holds a query" }
    guard parts.fragment == nil else { return "holds a fragment" }
    guard !parts.hasBadPort else { return "has a port that is not 1 to \(UInt16.max)" }
    return nil
  }

  private static let beyondASCII = "has a host with letters beyond ASCII: write its xn-- form (idn2 prints it)"

  /// Also false if such letters are percent-encoded.
  private static func hasASCIIHost(_ url: String) -> Bool {
    guard let start = url.firstRange(of: "://")?.upperBound else { return true }
    let authority = url[start...].prefix { !"/?#".contains($0) }
    return authority.utf8.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "%") }
  }

  /// An absolute URL is unchanged. A path starts at the origin if it begins with a slash, else at `base`.
  package static func resolve(_ text: String, against base: String) -> String {
    if isAbsolute(text) { return text }
    return text.hasPrefix("/") ? origin(of: base) + text : "\(base)/\(text)"
  }

  /// True if the text begins with a scheme.
  package static func isAbsolute(_ text: String) -> Bool {
    let scheme = text.prefix { $0.isLetter || $0.isNumber || "+-.".contains($0) }
    return !scheme.isEmpty && text[scheme.endIndex...].hasPrefix("://")
  }

  /// True if the scheme is https, in any case.
  package static func isHTTPS(_ url: String) -> Bool { url.lowercased().hasPrefix("https://") }

  /// Scheme, host and port in one notation, so that two addresses of one server compare equal.
  package static func comparableOrigin(of url: String) -> String {
    let origin = origin(of: url).lowercased()
    let port = isHTTPS(url) ? ":443" : ":80"
    let authority = origin.prefix { $0 != "?" }
    return authority.hasSuffix(port) ? String(authority.dropLast(port.count)) : String(authority)
  }

  /// Scheme and authority as written.
  private static func origin(of url: String) -> String {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.prefix(3).joined(separator: "/")
  }
}

extension URLComponents {
  /// True if the port is not a valid TCP port. A port that is too long for a number has no `port`, as if it were
  /// missing.
  package var hasBadPort: Bool { rangeOfPort != nil && !(1...Int(UInt16.max)).contains(port ?? 0) }
}
