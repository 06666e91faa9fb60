import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import RosterModel

/// Sends requests over connections that are kept and used again. Sends nothing twice by itself, follows no redirect.
package final class HTTPTransport: Sendable {
  package struct Settings: Sendable, Equatable {
    /// Of one attempt, from connect to last byte.
    package var timeout: Duration
    package var connections: Int
    /// nil: the system's.
    package var roots: CABundle?
    /// "sha256/BASE64" of the server's SubjectPublicKeyInfo; none: any key that the chain vouches for.
    package var pins: [String]

    package init(
      timeout: Duration = .seconds(30), connections: Int = 8, roots: CABundle? = nil, pins: [String] = []
    ) {
      self.timeout = timeout
      self.connections = connections
      self.roots = roots
      self.pins = pins
    }
  }

  /// The largest body that is read, decompressed (P11).
  package static let mostBytes = 8 * 1024 * 1024

  private let client: HTTPClient
  private let group: MultiThreadedEventLoopGroup
  private let timeout: TimeAmount
  private let executor: LoopExecutor

  package init(_ settings: Settings) {
    // One loop: a second one gained nothing, and costs a thread.
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    executor = LoopExecutor(group.next())
    timeout = .nanoseconds(Int64(settings.timeout.seconds * 1e9))
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.httpVersion = .http1Only
    configuration.timeout = .init(connect: timeout)
    // A token request must not wait for a page's connection.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = settings.connections + 1
    // Errors of a connection arrive at once and as they are; P11 decides what follows.
    configuration.connectionPool.retryConnectionEstablishment = false
    // Nobody reads spans here; those of the no-op tracer take 5% of a request's time.
    configuration.tracing.tracer = nil
    let pins = Pins(settings.pins)
    configuration.http1_1ConnectionDebugInitializer = { channel in
      pins.check(channel).flatMapThrowing { try Self.watchEnd(of: channel) }
    }
    if let roots = settings.roots {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .certificates(roots.certificates)
      configuration.tlsConfiguration = tls
    }
    client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
  }

  package func shutdown() async throws {
    try await client.shutdown()
    try await group.shutdownGracefully()
  }

  /// Runs what mostly waits for this transport on its loop: between the two no thread has to be woken.
  package func run<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(executor, operation: work)
  }

  /// Throws a Failure whose `reason` is what P11's table asks for, or CancellationError. Where the status alone decides what follows
  /// (any but 200 to a GET, any but 2xx to a POST), an answer is one by its head: its body is empty if it cannot be read.
  package func send(_ request: Request) async throws -> Response {
    do {
      do { return try await sendOnce(request) } catch is KeptConnectionEnded where request.method == .get {
        return try await sendOnce(request)
      }
    } catch NIOSSLError.handshakeFailed {
      throw failure(await refusedCertificate(request) ?? TLSBrokenOff(), of: request)
    } catch let broken as AnswerBroken {
      throw failure(broken.cause, of: request, received: broken.received)
    } catch {
      throw failure(error, of: request)
    }
  }

  /// nil: the handshake did not fail because of the server's certificate.
  private func refusedCertificate(_ request: Request) async -> CertificateFault? {
    guard let origin = Origin(url: request.url) else { return nil }
    let chain = try? await SecondHandshake.chain(of: origin, timeout: timeout, on: group.next())
    return chain.map { CertificateFault($0, now: Date()) }
  }

  private func sendOnce(_ request: Request) async throws -> Response {
    let loop = group.next()
    let collector = AnswerCollector(request.method, mostBytes: Self.mostBytes, on: loop)
    let exchange = client.execute(
      request: try HTTPClient.Request(request), delegate: collector, eventLoop: .delegate(on: loop),
      deadline: .now() + timeout)
    return try await withTaskCancellationHandler {
      try await exchange.futureResult.flatMapErrorThrowing(collector.settle).get()
    } onCancel: {
      exchange.cancel()
    }
  }

  private static func watchEnd(of channel: any Channel) throws {
    let pipeline = channel.pipeline.syncOperations
    if let tls = try? pipeline.handler(type: NIOSSLClientHandler.self) {
      try pipeline.addHandler(KeptConnection(), position: .after(tls))
    } else {
      try pipeline.addHandler(KeptConnection(), position: .first)
    }
  }
}

/// The handshake failed, and not because of the server's certificate.
struct TLSBrokenOff: Error {}

extension HTTPClient.Request {
  fileprivate init(_ request: Request) throws {
    var headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    headers.add(name: "Accept-Encoding", value: "gzip")
    try self.init(
      url: request.url, method: request.method == .get ? .GET : .POST, headers: headers,
      body: request.method == .post ? .bytes(request.body) : nil)
  }
}
