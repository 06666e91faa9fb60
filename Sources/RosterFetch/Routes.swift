import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RosterModel
import Synchronization

/// How a request comes to its server.
struct Route: Sendable {
  enum Way: Sendable {
    case direct
    /// A proxy is asked for the whole address (RFC 9112 §3.2.2): plain HTTP.
    case relayed(ProxyServer)
    /// A proxy has opened a tunnel (CONNECT) to that origin: https.
    case tunnelled(ProxyServer, Origin)
  }

  let way: Way
  let client: HTTPClient
  let tls: TLSConfiguration

  var proxy: ProxyServer? {
    switch way {
    case .direct: nil
    case .relayed(let proxy), .tunnelled(let proxy, _): proxy
    }
  }
}

/// The ways that there are, each with connections of its own.
final class Routes: Sendable {
  private let direct: Route
  private let relayed: Route?
  /// One for each origin, whose identity its connections verify; base_url and token_url have two at most.
  private let tunnels = Mutex<[Origin: Route]>([:])
  private let rules: ProxyRules
  private let route: @Sendable (Route.Way) -> Route

  init(_ settings: HTTPTransport.Settings, connect: TimeAmount, on group: any EventLoopGroup) {
    let trusted = TLSConfiguration(trusting: settings.roots)
    route = { way in
      var identity: TunnelIdentity?
      if case .tunnelled(_, let origin) = way { identity = TunnelIdentity(origin) }
      let tls = identity?.verified(by: trusted) ?? trusted
      let configuration = HTTPClient.Configuration(settings, connect: connect, tls, way, identity)
      let client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
      return Route(way: way, client: client, tls: tls)
    }
    rules = settings.proxies
    direct = route(.direct)
    relayed = rules.http.map { [route] in route(.relayed($0)) }
  }

  func route(to request: Request) -> Route {
    guard rules.http != nil || rules.https != nil, let origin = Origin(url: request.url),
      let proxy = rules.proxy(scheme: origin.scheme, host: origin.host, port: origin.port)
    else { return direct }
    if origin.scheme != "https" { return relayed ?? direct }
    return tunnels.withLock { tunnels in
      if let tunnel = tunnels[origin] { return tunnel }
      let tunnel = route(.tunnelled(proxy, origin))
      tunnels[origin] = tunnel
      return tunnel
    }
  }

  /// `closed` is called once, when all are.
  func shutdown(_ closed: @escaping @Sendable () -> Void) {
    let clients = [direct.client] + [relayed].compactMap { $0?.client } + tunnels.withLock { $0.values.map(\.client) }
    let close = clients.reduce(closed) { next, client in { client.shutdown { _ in next() } } }
    close()
  }
}

extension HTTPClient.Configuration {
  fileprivate init(
    _ settings: HTTPTransport.Settings, connect: TimeAmount, _ tls: TLSConfiguration, _ way: Route.Way,
    _ identity: TunnelIdentity?
  ) {
    self.init(redirectConfiguration: .disallow)
    httpVersion = .http1Only
    timeout = .init(connect: connect)
    // A token request must not wait for a page's connection.
    connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = settings.connections + 1
    // Errors of a connection arrive at once and as they are; P11 decides what follows.
    connectionPool.retryConnectionEstablishment = false
    // Nobody reads spans here; those of the no-op tracer take 5% of a request's time.
    tracing.tracer = nil
    tlsConfiguration = tls
    if case .tunnelled(let proxy, _) = way {
      self.proxy = .server(
        host: proxy.host, port: proxy.port,
        authorization: proxy.authorization.map { .basic(credentials: $0.reveal()) })
    }
    let pins = Pins(settings.pins)
    http1_1ConnectionDebugInitializer = { channel in
      channel.admitted {
        try pins.verify(channel)
        try identity?.verify(channel)
        if case .relayed(let proxy) = way { try AbsoluteForm.add(to: channel, for: proxy) }
        try KeptConnection.add(to: channel)
      }
    }
  }
}

extension Channel {
  /// Before the first request byte: the connection is not handed out until the future succeeds. Where the server is
  /// another one it fails, but not before the channel is closed: AsyncHTTPClient does not expect a connection that
  /// fails and lives.
  fileprivate func admitted(_ prepare: @escaping @Sendable () throws -> Void) -> EventLoopFuture<Void> {
    eventLoop.submit(prepare).flatMapError { error in
      self.close(promise: nil)
      return self.closeFuture.flatMapThrowing { throw error }
    }
  }
}
