import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
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

  package init(_ settings: Settings) {
    // One loop: a second one gained nothing, and costs a thread.
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    timeout = .nanoseconds(Int64(settings.timeout.seconds * 1e9))
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.httpVersion = .http1Only
    configuration.decompression = .enabled(limit: .size(Self.mostBytes))
    configuration.timeout = .init(connect: timeout)
    // A token request must not wait for a page's connection.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = settings.connections + 1
    // Errors of a connection arrive at once and as they are; P11 decides what follows.
    configuration.connectionPool.retryConnectionEstablishment = false
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

  /// Throws a Failure whose `reason` is what P11's table asks for, or CancellationError.
  package func send(_ request: Request) async throws -> Response {
    do {
      do { return try await sendOnce(request) } catch is KeptConnectionEnded where request.method == .get {
        return try await sendOnce(request)
      }
    } catch NIOSSLError.handshakeFailed {
      throw failure(await refusedCertificate(request) ?? TLSBrokenOff(), of: request)
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
    let exchange = HTTPClientRequest(request)
    return try await withThrowingTaskGroup(of: Response?.self) { group in
      group.addTask { try await self.exchange(exchange) }
      group.addTask {
        try await self.wait(self.timeout)
        return nil
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let response = first else { throw HTTPClientError.deadlineExceeded }
      return response
    }
  }

  private func exchange(_ request: HTTPClientRequest) async throws -> Response {
    let answer = try await client.execute(request, deadline: .distantFuture)
    let status = Int(answer.status.code)
    let headers = answer.headers.map { Request.Header($0.name, $0.value) }
    let encoded = answer.headers.contains(name: "Content-Encoding")
    // A 304 has no body, but its Content-Encoding makes the decompressor look for one.
    if status == 304, encoded { return Response(status: status, headers: headers) }
    let length = answer.headers.first(name: "Content-Length").flatMap { Int($0) }
    let body = try await Self.collect(answer.body, expected: length)
    return Response(status: status, headers: headers, body: body, received: encoded ? length : nil)
  }

  private static func collect(_ parts: HTTPClientResponse.Body, expected: Int?) async throws -> [UInt8] {
    var body: [UInt8] = []
    body.reserveCapacity(min(expected ?? 0, mostBytes))
    do {
      for try await part in parts {
        body.append(contentsOf: part.readableBytesView)
        if body.count > mostBytes { throw NIOTooManyBytesError(maxBytes: mostBytes) }
      }
    } catch let error as HTTPClientError where error == .remoteConnectionClosed {
      throw BodyCutOff()
    } catch is IOError {
      throw BodyCutOff()
    } catch HTTPParserError.invalidEOFState {
      throw BodyCutOff()
    }
    return body
  }

  /// On the loop, because a cancelled Task.sleep stays in Dispatch's heap until it is due: a pull would leave thousands there.
  private func wait(_ time: TimeAmount) async throws {
    let alarm = group.next().scheduleTask(in: time) {}
    try await withTaskCancellationHandler {
      try await alarm.futureResult.get()
    } onCancel: {
      alarm.cancel()
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

/// The connection ended in the middle of an answer.
struct BodyCutOff: Error {}

/// The handshake failed, and not because of the server's certificate.
struct TLSBrokenOff: Error {}

extension HTTPClientRequest {
  fileprivate init(_ request: Request) {
    self.init(url: request.url)
    method = request.method == .get ? .GET : .POST
    for header in request.headers { headers.add(name: header.name, value: header.value) }
    headers.add(name: "Accept-Encoding", value: "gzip")
    if request.method == .post { body = .bytes(request.body) }
  }
}
