import NIOCore
import NIOPosix
package import RosterCore
import Synchronization

/// Sends requests over connections that are kept and reused. Does not follow redirects, and sends each request once.
package final class HTTPTransport: Sendable {
  /// The settings of one transport, which never change: a reload makes another transport.
  package struct Settings: Sendable, Equatable {
    /// Longest duration of one attempt, from connect to last byte.
    package var timeout: Duration
    /// Number of connections that may be open for pages; one more is for tokens.
    package var connections: Int
    /// The authorities that may sign a server's certificate.
    package var roots: TrustedRoots
    /// "sha256/BASE64" of the server's SubjectPublicKeyInfo. An empty list accepts any key with a trusted chain.
    package var pins: [String]
    /// The proxies, and the servers that are reached through them.
    package var proxies: ProxyRules
    /// nil if no client certificate is configured.
    package var identity: ClientIdentity?

    /// The documented defaults.
    package init(
      timeout: Duration = .seconds(30), connections: Int = 8, roots: TrustedRoots = .system(SystemRoots()),
      pins: [String] = [], proxies: ProxyRules = ProxyRules(),
      identity: ClientIdentity? = nil
    ) {
      self.timeout = timeout
      self.connections = connections
      self.roots = roots
      self.pins = pins
      self.proxies = proxies
      self.identity = identity
    }
  }

  /// Largest size in bytes of a body after decompression.
  package static let maxBytes = Answer.maxBytes

  /// Longest wait of `shutdown`: everything that ends has 5 s.
  package static let maxShutdown = Duration.milliseconds(400)

  private let routes: Routes
  private let group: MultiThreadedEventLoopGroup
  private let loop: any EventLoop
  private let timeout: TimeAmount
  private let executor: LoopExecutor
  private let connections: NIOLoopBoundBox<Connections>
  private let isShutDown = Atomic(false)

  /// Opens no connection yet. Call `shutdown` at the end.
  package convenience init(_ settings: Settings) {
    self.init(settings, maxIdle: ConnectionPool.maxIdle)
  }

  /// - Parameter maxIdle: idle time after which a connection is closed.
  init(_ settings: Settings, maxIdle: TimeAmount) {
    // One loop: a second one was not faster, and costs a thread.
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    loop = group.next()
    executor = LoopExecutor(loop)
    timeout = .nanoseconds(Int64(settings.timeout.seconds * 1e9))
    routes = Routes(settings.proxies)
    // A token request must not wait for a page's connection.
    let limits = ConnectionPool.Limits(most: settings.connections + 1, maxIdle: maxIdle)
    let connector = Connector(roots: settings.roots, pins: Pins(settings.pins), identity: settings.identity, on: loop)
    connections = .makeBoxSendingValue(Connections(connector, limits: limits, on: loop), eventLoop: loop)
  }

  /// Closes all connections, and returns after `maxShutdown` at the latest. A name lookup cannot be interrupted
  /// (getaddrinfo(3) blocks its thread), and may continue.
  package func shutdown() async {
    if isShutDown.exchange(true, ordering: .acquiringAndReleasing) { return }
    let (closed, close) = AsyncStream.makeStream(of: Void.self)
    loop.execute { [connections, group] in
      connections.value.giveUpAll()
      group.shutdownGracefully { _ in close.finish() }
    }
    await withTaskGroup(of: Void.self) { race in
      race.addTask { for await _ in closed {} }
      race.addTask { try? await Task.sleep(for: Self.maxShutdown) }
      await race.next()
      race.cancelAll()
    }
  }

  /// Runs work that mostly waits for this transport on its loop, so that no other thread has to be woken.
  package func run<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(executor, operation: work)
  }

  /// Throws a `Failure`, whose `reason` selects the row of the retry table, or CancellationError. Some answers are
  /// decided by their status alone: any but 200 to a GET, any but 2xx to a POST. Their body is empty if it cannot be
  /// read.
  package func send(_ request: Request) async throws -> Response {
    let deadline = NIODeadline.now() + (request.timeout.map(TimeAmount.init(_:)) ?? timeout)
    let url = request.secrets.reduce(request.url) { QueryText.setting($1, in: $0) }
    guard let target = RequestTarget(url), let route = routes.route(to: target) else {
      throw Failure.unusableRequest
    }
    do {
      let message = try Message(request, target: target, by: route)
      let response = try await exchange(
        message, by: deadline,
        // No request waits for a day.
        tokenEnd: request.tokenLife.map { NIODeadline.now() + TimeAmount(min($0, .seconds(86_400))) },
        onNewConnection: request.needsNewConnection)
      if case .relayed(let proxy) = route.way, response.isProxyRefusal {
        throw proxy.failed(status: response.status, tunnel: route.origin)
      }
      if let refusal = Failure(clientCertificate: response) { throw refusal }
      return response
    } catch {
      if Task.isCancelled || error is CancellationError { throw CancellationError() }
      var failure = Failure(transport: error)
      if let proxy = route.proxy, failure.exchange?.isOfProxy != true {
        failure.cause += " (through the proxy \(proxy))"
      }
      throw failure
    }
  }

  private func exchange(
    _ message: Message, by deadline: NIODeadline, tokenEnd: NIODeadline?, onNewConnection: Bool
  ) async throws -> Response {
    // A loop that has ended would never answer.
    if isShutDown.load(ordering: .acquiring) { throw CancellationError() }
    let ticket = Connections.Ticket()
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        onLoop { connections in
          connections.begin(
            message, ticket: ticket, by: deadline, tokenEnd: tokenEnd, onNewConnection: onNewConnection,
            continuation: continuation)
        }
      }
    } onCancel: {
      ticket.giveUp()
      onLoop { connections in connections.giveUp(ticket) }
    }
  }

  private func onLoop(_ work: @escaping @Sendable (Connections) -> Void) {
    if loop.inEventLoop { return work(connections.value) }
    loop.execute { [connections] in work(connections.value) }
  }
}
