import RosterModel
import Synchronization

struct Route: Sendable {
  /// Requests with equal ways share connections.
  enum Way: Sendable, Hashable {
    case direct(Origin)
    /// A proxy gets the whole address (RFC 9112 §3.2.2), for plain HTTP.
    case relayed(ProxyServer)
    /// A proxy opens a tunnel (CONNECT) to that origin, for https.
    case tunnelled(ProxyServer, Origin)
  }

  let way: Way
  let origin: Origin
  /// The value of `Host` (RFC 9110 §7.2).
  let host: String

  var proxy: ProxyServer? {
    switch way {
    case .direct: nil
    case .relayed(let proxy), .tunnelled(let proxy, _): proxy
    }
  }
}

final class Routes: Sendable {
  private let rules: ProxyRules
  /// Routes by scheme and authority, as written. base_url and token_url have at most two.
  private let known = Mutex<[Substring: Route]>([:])

  init(_ rules: ProxyRules) {
    self.rules = rules
  }

  /// nil if the target is not the address of a server.
  func route(to target: RequestTarget) -> Route? {
    known.withLock { known in
      if let route = known[target.base] { return route }
      guard let origin = Origin(url: String(target.base)) else { return nil }
      let route = Route(way: way(to: origin), origin: origin, host: origin.hostField)
      if known.count < Self.maxKnown { known[target.base] = route }
      return route
    }
  }

  /// Limits the memory: upstream could invent any number of addresses.
  private static let maxKnown = 16

  private func way(to origin: Origin) -> Route.Way {
    guard let proxy = rules.proxy(scheme: origin.scheme, host: origin.host, port: origin.port) else {
      return .direct(origin)
    }
    return origin.scheme == "https" ? .tunnelled(proxy, origin) : .relayed(proxy)
  }
}
