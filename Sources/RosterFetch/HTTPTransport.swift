import AsyncHTTPClient
import FoundationEssentials
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import RosterModel

/// Sends requests over connections that are kept and used again. Sends nothing twice by itself, follows no redirect.
package final class HTTPTransport: Sendable {
  /// Of one transport, for all its life: a reload makes another one.
  package struct Settings: Sendable, Equatable {
    /// Of one attempt, from connect to last byte.
    package var timeout: Duration
    /// That may be open for pages; one more is for tokens.
    package var connections: Int
    /// nil: the system's.
    package var roots: CABundle?
    /// "sha256/BASE64" of the server's SubjectPublicKeyInfo; none: any key that the chain vouches for.
    package var pins: [String]
    /// By way of what a server is asked.
    package var proxies: ProxyRules

    /// The contract's defaults.
    package init(
      timeout: Duration = .seconds(30), connections: Int = 8, roots: CABundle? = nil, pins: [String] = [],
      proxies: ProxyRules = ProxyRules()
    ) {
      self.timeout = timeout
      self.connections = connections
      self.roots = roots
      self.pins = pins
      self.proxies = proxies
    }
  }

  /// The largest body that is read, decompressed (P11).
  package static let mostBytes = 8 * 1024 * 1024

  /// How long `shutdown` waits: P13 leaves 5 s for all that ends.
  package static let longestShutdown = Duration.milliseconds(400)

  private let routes: Routes
  private let group: MultiThreadedEventLoopGroup
  private let timeout: TimeAmount
  private let executor: LoopExecutor

  /// Opens nothing yet. Needs a `shutdown`.
  package init(_ settings: Settings) {
    // One loop: a second one gained nothing, and costs a thread.
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    executor = LoopExecutor(group.next())
    timeout = .nanoseconds(Int64(settings.timeout.seconds * 1e9))
    routes = Routes(settings, connect: timeout, on: group)
  }

  /// Closes all connections. What cannot be broken off is left behind after `longestShutdown`: a connection that is
  /// still being made, or a name that nobody resolves (getaddrinfo(3) blocks its thread).
  package func shutdown() async {
    let (closed, close) = AsyncStream.makeStream(of: Void.self)
    routes.shutdown { [group] in group.shutdownGracefully { _ in close.finish() } }
    await withTaskGroup(of: Void.self) { race in
      race.addTask { for await _ in closed {} }
      race.addTask { try? await Task.sleep(for: Self.longestShutdown) }
      await race.next()
      race.cancelAll()
    }
  }

  /// Runs what mostly waits for this transport on its loop: between the two no thread has to be woken.
  package func run<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(executor, operation: work)
  }

  /// Throws a `RequestFault` whose `reason` is what P11's table asks for, or CancellationError. Where the status alone
  /// decides what follows (any but 200 to a GET, any but 2xx to a POST), an answer is one by its head: its body is
  /// empty if it cannot be read.
  package func send(_ request: Request) async throws -> Response {
    let deadline = NIODeadline.now() + timeout
    let route = routes.route(to: request)
    do {
      do { return try await exchange(request, route, deadline) } catch
        where error.endedKeptConnection && request.method == .get
      {
        return try await exchange(request, route, deadline, onNewConnection: true)
      }
    } catch let broken as AnswerBroken {
      throw fault(broken.cause, by: route.proxy, received: broken.received)
    } catch {
      throw fault(await explained(error, request, route, deadline), by: route.proxy)
    }
  }

  /// What the library's error leaves open is looked at on another connection.
  private func explained(
    _ error: any Error, _ request: Request, _ route: Route, _ deadline: NIODeadline
  ) async -> any Error {
    switch error {
    case let error as NIOSSLError where error.isUntrustedCertificate:
      return await refusedCertificate(request, route, deadline)
    case NIOSSLError.handshakeFailed: return TLSBrokenOff()
    default:
      guard let proxy = route.proxy, let origin = Origin(url: request.url),
        let fault = ProxyFault(error, of: proxy, to: origin)
      else { return error }
      guard case .closed = fault.kind else { return fault }
      return await ProxyTunnel.refusal(to: origin, by: proxy, deadline: deadline, on: group.next()) ?? fault
    }
  }

  /// Why the chain that the handshake refused is not trusted.
  private func refusedCertificate(
    _ request: Request, _ route: Route, _ deadline: NIODeadline
  ) async -> CertificateFault {
    guard let origin = Origin(url: request.url),
      let chain = try? await SecondHandshake.chain(of: origin, by: route.proxy, deadline: deadline, on: group.next())
    else { return .unseen }
    return CertificateFault(chain, now: Date())
  }

  /// - Parameter onNewConnection: AsyncHTTPClient keeps the connections of each TLS configuration apart, also where it
  ///   is that of all and for plain HTTP. Whoever names one and closes its connections meets none that was kept.
  private func exchange(
    _ request: Request, _ route: Route, _ deadline: NIODeadline, onNewConnection: Bool = false
  ) async throws -> Response {
    let loop = group.next()
    let collector = AnswerCollector(request.method, mostBytes: Self.mostBytes, on: loop)
    var message = try HTTPClient.Request(request, by: route)
    if onNewConnection {
      message.tlsConfiguration = route.tls
      message.headers.add(name: "Connection", value: "close")
    }
    let exchange = route.client.execute(
      request: message, delegate: collector, eventLoop: .delegate(on: loop), deadline: deadline)
    let response = try await withTaskCancellationHandler {
      // Instead of `get`, which makes a future more.
      try await withUnsafeThrowingContinuation { continuation in
        exchange.futureResult.whenComplete { ended in
          continuation.resume(with: ended.flatMapError { error in Result { try collector.settle(error) } })
        }
      }
    } onCancel: {
      exchange.cancel()
    }
    if case .relayed(let proxy) = route.way, response.isProxyRefusal, let origin = Origin(url: request.url) {
      throw ProxyFault(proxy: proxy, kind: .refused(response.status, origin))
    }
    return response
  }
}

/// What a request that the libraries gave up has come to.
/// - Parameters:
///   - proxy: by way of which it was sent.
///   - received: body bytes that came before.
private func fault(_ error: any Error, by proxy: ProxyServer?, received: Int = 0) -> any Error {
  if Task.isCancelled || error is CancellationError || error as? HTTPClientError == .cancelled {
    return CancellationError()
  }
  var fault = (error as? ProxyFault)?.fault ?? TransportCause(error).fault
  if error is PinMismatch { fault.trouble = .pin }
  if let proxy, !fault.isOfProxy { fault.cause += " (by way of the proxy \(proxy))" }
  fault.received = received
  fault.isUnsent = error.endedConnecting
  return fault
}

extension TLSConfiguration {
  /// - Parameter roots: nil: the system's.
  init(trusting roots: CABundle?) {
    self = .makeClientConfiguration()
    // RFC 8996: nothing older is safe.
    minimumTLSVersion = .tlsv12
    if let roots { trustRoots = .certificates(roots.certificates) }
  }
}

extension NIOSSLError {
  /// Whether a handshake failed because the chain did not pass verification, and for no other reason. BoringSSL's codes
  /// are private to NIOSSL; the reason's name in the error's text is all that it gives away.
  fileprivate var isUntrustedCertificate: Bool {
    guard case .handshakeFailed(.sslError(let stack)) = self else { return false }
    return stack.contains { $0.description.contains("CERTIFICATE_VERIFY_FAILED") }
  }
}

extension Error {
  /// Whether no connection was made, of which a TLS handshake is the last step: the request was not written (T5).
  fileprivate var endedConnecting: Bool {
    switch self {
    case is NIOConnectionError, is TLSBrokenOff, is ProxyFault: true
    case let error as HTTPClientError: error == .connectTimeout || error == .tlsHandshakeTimeout
    case let error as IOError: error.errnoCode == ECONNREFUSED
    default: false
    }
  }

  /// Whether a connection that was kept had ended before the first byte of an answer, or before the request was written
  /// at all.
  fileprivate var endedKeptConnection: Bool {
    self is KeptConnectionEnded || self as? ChannelError == .ioOnClosedChannel
  }
}

extension HTTPClient.Request {
  fileprivate init(_ request: Request, by route: Route) throws {
    var headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    headers.add(name: "Accept-Encoding", value: "gzip")
    var url = request.url
    if let secret = request.secret { url = QueryText.setting(secret, in: url) }
    if case .relayed(let proxy) = route.way { (url, headers) = AbsoluteForm.addressed(url, headers, to: proxy) }
    try self.init(
      url: url, method: request.method == .get ? .GET : .POST, headers: headers,
      body: request.method == .post ? .bytes(request.body) : nil)
  }
}
