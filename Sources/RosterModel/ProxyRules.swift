/// By way of which proxy a server is asked: `upstream.proxy` with what the environment says.
package struct ProxyRules: Sendable, Equatable {
  /// For servers that are spoken to in plain HTTP.
  package var http: ProxyServer?
  /// For https: the proxy opens a tunnel (CONNECT), and TLS is with the server itself.
  package var https: ProxyServer?
  /// The list of `NO_PROXY`; see `ProxyException`.
  package var exceptions: [ProxyException]

  /// Without proxies unless given.
  package init(http: ProxyServer? = nil, https: ProxyServer? = nil, exceptions: [ProxyException] = []) {
    self.http = http
    self.https = https
    self.exceptions = exceptions
  }

  /// nil: it is asked directly.
  /// - Parameters:
  ///   - scheme: `http` or `https`.
  ///   - host: without the brackets of an IPv6 address.
  package func proxy(scheme: String, host: String, port: Int) -> ProxyServer? {
    guard let proxy = scheme == "https" ? https : http else { return nil }
    return exceptions.contains { $0.covers(host: host, port: port) } ? nil : proxy
  }
}

/// One entry of `NO_PROXY`: `*`, a host with all below it (`example.com`, the same as `.example.com`, `*.example.com`
/// and `example.com.`), an IP address or a block of addresses (`10.0.0.0/8`). An entry that ends with a port
/// (`host:8080`, `[::1]:8080`) holds for that port only.
package struct ProxyException: Sendable, Equatable {
  private enum Hosts: Equatable {
    case all
    case below(String)
    case block(IPBlock)
  }

  private let hosts: Hosts
  private let port: Int?

  /// What parts the entries is commas and white space.
  package static func list(_ text: String) -> [ProxyException] {
    text.split { $0 == "," || $0.isWhitespace }.map { ProxyException(String($0)) }
  }

  private init(_ entry: String) {
    var host = entry[...]
    var port: Int?
    // An IPv6 address has colons of its own, and a port only behind brackets.
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

  /// - Parameter host: without the brackets of an IPv6 address.
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

  /// An absolute name ends with a dot, and is the same host.
  private static func withoutRootDot(_ name: String) -> String { name.hasSuffix(".") ? String(name.dropLast()) : name }
}

/// The IP addresses that begin with the same bits.
private struct IPBlock: Equatable {
  let bytes: [UInt8]
  let bits: Int

  /// `10.0.0.0/8`; without a length one address. nil: it is none.
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
