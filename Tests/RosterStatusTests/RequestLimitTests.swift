import NIOCore
import NIOEmbedded
import RosterCore
import Testing

@testable import RosterStatus

/// Requests without a socket, which would decide by itself how many bytes arrive in one read.
@Suite struct RequestLimitTests {
  private static let get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
  private static let limit = HeadLimit.bytes

  private static func request(_ line: String) -> String { line + "\r\nHost: localhost\r\n\r\n" }

  @Test(
    "A request is read in the same way wherever it is split, and further ones are ignored",
    arguments: [
      (get, [200]), (get + get, [200]), (get + "\0\0", [200]), ("\r\n" + get, [200]), ("GET /heal", [400]),
      (request("FOO / HTTP/1.1"), [400]), (request("get / HTTP/1.1"), [400]), (request("GET / HTTP/2.0"), [400]),
      (request("GET /"), [400]), (request("F\u{1}O / HTTP/1.1"), [400]), ("\u{16}\u{3}\u{1}", [400]),
    ])
  func cut(text: String, statuses: [Int]) throws {
    for place in 0..<text.utf8.count {
      #expect(try answers(to: text.pieces(of: place)) == statuses, "cut at \(place)")
    }
    #expect(try answers(to: text.utf8.map { [$0] }) == statuses)
  }

  @Test(
    "45: a line over 16 KiB is refused in the same way, in any pieces",
    arguments: [
      ("GET /", "", 431), ("GET /", " HTTP/1.1\r\n\r\n", 431), ("FOO /", " HTTP/1.1\r\n\r\n", 400),
      ("GET /", "\u{1} HTTP/1.1\r\n\r\n", 431), ("GET / HTTP/1.1\r\nx: ", "\r\n\u{1}\r\n\r\n", 431),
    ])
  func overlong(start: String, end: String, status: Int) throws {
    for length in [Self.limit + 1 - start.utf8.count, Self.limit + 999] {
      let text = start + String(repeating: "x", count: length) + end
      for size in [100, 5000, Self.limit - 1, Self.limit, Self.limit + 1, 2 * Self.limit] {
        let pieces = stride(from: 0, to: text.utf8.count, by: size).map { Array(text.utf8.dropFirst($0).prefix(size)) }
        #expect(try answers(to: pieces) == [status], "\(length) bytes in pieces of \(size)")
      }
    }
  }

  @Test("45: the beginning of a request has its time from the connection on, whatever follows")
  func dripping() throws {
    let client = try EmbeddedClient()
    for byte in "GET /heal".utf8 {
      client.send([byte])
      client.wait(.seconds(1))
      #expect(try client.answers() == [])
    }
    client.wait(.seconds(1))
    #expect(try client.answers() == [408])
  }

  @Test("41: a stop does not wait for the end of a request's line")
  func stop() throws {
    let client = try EmbeddedClient()
    client.send(Array("GET /heal".utf8))
    #expect(client.isOpen)
    client.connection.finish()
    #expect(!client.isOpen)
  }

  /// The statuses of all answers so far.
  private func answers(to pieces: [[UInt8]]) throws -> [Int] {
    let client = try EmbeddedClient()
    for piece in pieces where client.isOpen { client.send(piece) }
    client.endInput()
    return try client.answers()
  }
}

extension String {
  /// The request in two pieces, the first one of this size.
  fileprivate func pieces(of size: Int) -> [[UInt8]] { [Array(utf8.prefix(size)), Array(utf8.dropFirst(size))] }
}

/// A client with one connection, whose pieces arrive in one read each.
private final class EmbeddedClient {
  private let channel = EmbeddedChannel()
  private var received: [UInt8] = []
  let connection: StatusConnection

  init() throws {
    connection = StatusConnection(
      routes: makeRoutes(), limits: StatusLimits(), peer: nil, connections: StatusConnections(StatusLimits()))
    try connection.join(channel)
    channel.connect(to: try SocketAddress(unixDomainSocketPath: "/s"), promise: nil)
  }

  var isOpen: Bool { channel.isActive }

  func send(_ piece: [UInt8]) {
    channel.pipeline.fireChannelRead(ByteBuffer(bytes: piece))
    channel.pipeline.fireChannelReadComplete()
    channel.embeddedEventLoop.run()
  }

  func endInput() {
    channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
  }

  func wait(_ time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

  /// The statuses of all answers so far.
  func answers() throws -> [Int] {
    while case .byteBuffer(let bytes)? = try channel.readOutbound(as: IOData.self) {
      received += bytes.readableBytesView
    }
    return String(decoding: received, as: UTF8.self).split(separator: "HTTP/1.1 ").compactMap { Int($0.prefix(3)) }
  }
}
