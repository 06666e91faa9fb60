import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
package import RosterCore

/// Sends requests to a daemon over its status socket.
package struct StatusClient: Sendable {
  private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  private let socket: DaemonSocket

  /// A client of the socket at a path. It sends nothing yet.
  package init(socket path: String) { self.init(DaemonSocket(path)) }

  /// A client of a socket. It sends nothing yet.
  package init(_ socket: DaemonSocket) { self.socket = socket }

  /// Name of the user who owns the socket, which is the daemon's user; nil if it cannot be found out.
  package var owner: String? { GroupAccess.owner(of: socket.path) }

  /// Sends one request and returns its complete answer, whatever its status. Throws `Failure`: 3 if no daemon answers
  /// within `limit`, 77 if this user may not use the socket; or CancellationError.
  package func send(
    _ method: String, target: String, body: [UInt8] = [], within limit: Duration = .seconds(10)
  ) async throws -> Response {
    try await withThrowingTaskGroup(of: Response.self) { group in
      group.addTask { try await exchange(method, target: target, body: body) }
      group.addTask {
        try await Task.sleep(for: limit)
        throw socket.silent("nothing came within \(limit.text)")
      }
      defer { group.cancelAll() }
      guard let first = try await group.next() else { throw CancellationError() }
      return first
    }
  }

  /// Follows the event stream until `each` returns false or the stream ends, also because the daemon was killed. With
  /// `last`, it resumes after that event. `opened` is called when no later event can be missed, and may stop the stream
  /// by returning false. Throws the same errors as `send`.
  package func follow(
    after last: String? = nil, opened: () async throws -> Bool = { true },
    each: (StreamedEvent) async throws -> Bool
  ) async throws {
    let headers = last.map { [("Last-Event-ID", $0)] } ?? []
    try await connect { inbound, outbound in
      try await write("GET", target: "/v1/events", headers: headers, body: [], to: outbound)
      var parser = EventStreamParser()
      var hasBegun = false
      do {
        for try await part in inbound {
          switch part {
          case .head(let head):
            guard head.status == .ok else {
              throw socket.silent("another program answers (\(head.status.code) to /v1/events)")
            }
            hasBegun = true
            if try await !opened() { return }
          case .body(let bytes):
            for event in parser.feed(bytes.readableBytesView) where try await !each(event) { return }
          case .end: return
          }
        }
      } catch let error where hasBegun && Self.isEnd(error) {
        return
      }
    }
  }

  /// The errors that end a stream when the daemon was killed.
  private static func isEnd(_ error: any Error) -> Bool {
    error is IOError || error is ChannelError || error as? HTTPParserError == .invalidEOFState
  }

  private func exchange(_ method: String, target: String, body: [UInt8]) async throws -> Response {
    try await connect { inbound, outbound in
      try await write(method, target: target, headers: [], body: body, to: outbound)
      var response: Response?
      for try await part in inbound {
        switch part {
        case .head(let head):
          response = Response(
            status: Int(head.status.code), headers: head.headers.map { Request.Header($0.name, $0.value) })
        case .body(let bytes): response?.body += bytes.readableBytesView
        case .end: return try response ?? { throw socket.silent("the answer has no head") }()
        }
      }
      try Task.checkCancellation()
      throw socket.silent("the connection ended before the answer did")
    }
  }

  private func write(
    _ method: String, target: String, headers: [(String, String)], body: [UInt8],
    to outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
  ) async throws {
    var fields = HTTPHeaders([("Host", "localhost")] + headers)
    if !body.isEmpty { fields.add(name: "Content-Length", value: String(body.count)) }
    let head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: method), uri: target, headers: fields)
    var parts: [HTTPClientRequestPart] = [.head(head), .end(nil)]
    if !body.isEmpty { parts.insert(.body(.byteBuffer(ByteBuffer(bytes: body))), at: 1) }
    // All parts in one write: a daemon that refuses the head may close the connection before the end is written.
    try await outbound.write(contentsOf: parts)
  }

  private func connect<Result>(
    _ body: (
      NIOAsyncChannelInboundStream<HTTPClientResponsePart>, NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
    ) async throws -> Result
  ) async throws -> Result {
    do {
      let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .withConnectedSocket(try socket.connect()) { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            return try Connection(wrappingChannelSynchronously: channel)
          }
        }
      return try await connection.executeThenClose(body)
    } catch let error as IOError {
      throw socket.failure(error.errnoCode)
    } catch let error as ChannelError {
      throw socket.silent("the connection ended (\(error))")
    } catch HTTPParserError.invalidEOFState {
      throw socket.silent("the connection ended before the answer did")
    } catch let error as HTTPParserError {
      throw socket.silent("the server does not speak HTTP (\(error))")
    }
  }
}

/// The status socket from its clients' point of view: a path, and the meaning of a failed connection.
package struct DaemonSocket: Sendable {
  /// Path of the socket.
  package let path: String
  private let unit: String?

  /// Connects to nothing yet.
  /// - Parameter unit: the daemon's systemd unit, without `.service`, if a user has named it.
  package init(_ path: String, unit: String? = nil) {
    self.path = path
    self.unit = unit
  }

  /// Returns a connection with non-blocking calls; the caller closes it. Throws `Failure`: 3 if no daemon answers, 77
  /// if this user may not use the socket.
  package func connect() throws(Failure) -> Int32 {
    // NIO limits a path to 103 bytes, as other systems do; Linux allows 107 (unix(7)).
    let descriptor = socket(AF_UNIX, UnixSocket.stream, 0)
    if descriptor < 0 { throw failure(errno) }
    let answer = UnixSocket.withAddress(of: path) { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
    if answer == 0 { return descriptor }
    close(descriptor)
    throw answer.map(failure) ?? silent("the path is too long for a socket")
  }

  func failure(_ code: Int32) -> Failure {
    let cause = SystemError(code: code).text
    guard code == EACCES || code == EPERM else { return silent(cause) }
    return Failure(
      .refused, step: "ask the daemon", subject: path, cause: cause,
      hint: GroupAccess.hint(for: path, isSocket: true))
  }

  func silent(_ cause: String) -> Failure {
    Failure(
      .noDaemon, step: "ask the daemon", subject: path, cause: "no daemon answers: \(cause)",
      hint: unit.map { "start it with systemctl start \($0)" }
        ?? "see whether rosterd runs, and whether --socket names its status.socket")
  }
}
