import FoundationEssentials

/// Selects the proxy for each server, from `upstream.proxy` and the environment.
package struct ProxyRules: Sendable, Equatable {
  /// The proxy for plain HTTP.
  package var http: ProxyServer?
  /// The proxy for https: it opens a tunnel (CONNECT), through which TLS is spoken with the server itself.
  package var https: ProxyServer?
  /// The entries of `NO_PROXY`; see `ProxyException`.
  package var exceptions: [ProxyException]

  /// No proxies by default.
  package init(http: ProxyServer? = nil, https: ProxyServer? = nil, exceptions: [ProxyException] = []) {
    self.http = http
    self.https = https
    self.exceptions = exceptions
  }

  /// nil if the server is asked directly.
  /// - Parameters:
  ///   - scheme: `http` or `https`.
  ///   - host: The host without the brackets of an IPv6 address.
  package func proxy(scheme: String, host: String, port: Int) -> ProxyServer? {
    guard let proxy = scheme == "https" ? https : http else { return nil }
    return exceptions.contains { $0.covers(host: host, port: port) } ? nil : proxy
  }
}

/// One entry of `NO_PROXY`:
/// - `*` for all hosts;
/// - a host and its subdomains: `example.com`, `.example.com`, `*.example.com` and `example.com.` are equivalent;
/// - an IP address or a block of addresses: `10.0.0.0/8`.
///
/// An entry that ends with a port (`host:8080`, `[::1]:8080`) applies to that port only.
package struct ProxyException: Sendable, Equatable {
  private enum Hosts: Equatable {
    case all
    case below(String)
    case block(IPBlock)
  }

  private let hosts: Hosts
  private let port: Int?

  /// Entries are separated by commas and white space.
  package static func list(_ text: String) -> [ProxyException] {
    text.split { $0 == "," || $0.isWhitespace }.map { ProxyException(String($0)) }
  }

  private init(_ entry: String) {
    var host = entry[...]
    var port: Int?
    // An IPv6 address contains colons, so its port must follow brackets.
    if let colon = host.lastIndex(of: ":"), host.hasPrefix("[") || host.firstIndex(of: ":") == colon,
      let number = Int(host[host.index(after: colon)...])
    {
      port = number
      host = host[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    self.port = port
    if host == "*" {
      hosts = .all
    } else if let block = IPBlock(host) {
      hosts = .block(block)
    } else {
      let name = host.hasPrefix("*.") ? host.dropFirst() : host
      hosts = .below(Self.withoutRootDot(name.drop { $0 == "." }.lowercased()))
    }
  }

  /// - Parameter host: the host without the brackets of an IPv6 address.
  package func covers(host: String, port: Int) -> Bool {
    if let own = self.port, own != port { return false }
    switch hosts {
    case .all: return true
    case .below(let name):
      let host = Self.withoutRootDot(host.lowercased())
      if IPAddress.bytes(host) != nil { return false }
      return host == name || (!name.isEmpty && host.hasSuffix(".\(name)"))
    case .block(let block): return IPBlock(host[...]).map { block.holds($0) } ?? false
    }
  }

  /// An absolute name ends with a dot and means the same host.
  private static func withoutRootDot(_ name: String) -> String { name.hasSuffix(".") ? String(name.dropLast()) : name }
}

/// A block of IP addresses: all that begin with the same bits.
private struct IPBlock: Equatable {
  let bytes: [UInt8]
  let bits: Int

  /// Reads `10.0.0.0/8`; without a length it is a single address. nil if the text is invalid.
  init?(_ text: Substring) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let bytes = IPAddress.bytes(String(parts[0])) else { return nil }
    let all = bytes.count * 8
    guard parts.count == 1 || Int(parts[1]).map({ (0...all).contains($0) }) == true else { return nil }
    self.bytes = bytes
    bits = parts.count == 1 ? all : Int(parts[1]) ?? all
  }

  func holds(_ other: IPBlock) -> Bool {
    guard bytes.count == other.bytes.count else { return false }
    return zip(bytes, other.bytes).enumerated().allSatisfy { index, pair in
      let left = max(0, min(8, bits - index * 8))
      return (pair.0 ^ pair.1) >> (8 - left) == 0
    }
  }
}

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

/// User and password of a proxy. Every printed or dumped form is "***".
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
