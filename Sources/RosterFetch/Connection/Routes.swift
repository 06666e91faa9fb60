import RosterModel
import Synchronization

/// How a request comes to its server.
struct Route: Sendable {
  /// Requests that go the same way share connections.
  enum Way: Sendable, Hashable {
    case direct(Origin)
    /// A proxy is asked for the whole address (RFC 9112 §3.2.2): plain HTTP.
    case relayed(ProxyServer)
    /// A proxy opens a tunnel (CONNECT) to that origin: https.
    case tunnelled(ProxyServer, Origin)
  }

  let way: Way
  let origin: Origin
  /// What `Host` says (RFC 9110 §7.2).
  let host: String

  var proxy: ProxyServer? {
    switch way {
    case .direct: nil
    case .relayed(let proxy), .tunnelled(let proxy, _): proxy
    }
  }
}

/// The ways that the proxies' rules lead.
final class Routes: Sendable {
  private let rules: ProxyRules
  /// By scheme and authority, as they are written: base_url and token_url have two at most.
  private let known = Mutex<[Substring: Route]>([:])

  init(_ rules: ProxyRules) {
    self.rules = rules
  }

  /// nil: that is no address of a server.
  func route(to target: RequestTarget) -> Route? {
    known.withLock { known in
      if let route = known[target.base] { return route }
      guard let origin = Origin(url: String(target.base)) else { return nil }
      let route = Route(way: way(to: origin), origin: origin, host: origin.hostField)
      if known.count < Self.mostKnown { known[target.base] = route }
      return route
    }
  }

  /// Of a definition's addresses, upstream could make up any number.
  private static let mostKnown = 16

  private func way(to origin: Origin) -> Route.Way {
    guard let proxy = rules.proxy(scheme: origin.scheme, host: origin.host, port: origin.port) else {
      return .direct(origin)
    }
    return origin.scheme == "https" ? .tunnelled(proxy, origin) : .relayed(proxy)
  }
}
