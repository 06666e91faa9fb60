import FoundationEssentials
import NIOCore
import NIOEmbedded
import NIOHTTP1
import RosterCore

@testable import RosterStatus

/// The input of a client to the status socket. The answers do not depend on how the input is split, and each one is an
/// answer of HTTP/1.1.
///
/// Answers that are made outside the event loop are not tested: four other requests occupy all places for such work.
enum HTTPTarget {
  private static let now = Date(timeIntervalSince1970: 1_795_348_800)
  private static let snapshot = CacheFacts(
    snapshot: 17, publishedAt: now.rfc3339, verifiedAt: now.rfc3339, records: 826, pages: 42)
  /// One input byte is expanded to many, so that a small input can exceed the limits of a request.
  private static let (short, long) = (UInt8(1), [UInt8](repeating: UInt8(ascii: "a"), count: 5_000))

  private static let chunk = StatusConnection.readSize
  /// The first bytes always arrive one by one, whatever the choices are; a usual request line is that long.
  private static let line = 80

  private static let routes: StatusRoutes = {
    let clock = WallClock(now: { now }, sleep: { _ in })
    let board = StatusBoard(
      version: "0", pid: 1, startedAt: now, baseURL: "http://localhost", cachePath: "/c",
      config: DaemonStatus.Config(path: nil, loadedAt: now.rfc3339), flow: "none", clock: clock, cache: snapshot,
      sizes: { FileSizes(database: 1, wal: 1) })
    return StatusRoutes(
      board: board, owner: 1000, alive: { true }, history: { _ in [] },
      sync: { _ in SyncRequest.Accepted(sync: 1, joined: false) }, feed: { _ in .page(json: [], isEmpty: true) },
      cancel: { nil })
  }()

  static func check(_ input: [UInt8]) {
    let (choices, rest) = Choices.split(input)
    let bytes = rest.flatMap { $0 == short ? long : [$0] }
    let whole = certain("serve") { try serve(bytes.parts(of: chunk)) }
    let answers = answers(in: whole, to: bytes)
    promise(answers != nil, "no answers of HTTP/1.1: \(String(decoding: whole, as: UTF8.self))")
    for pieces in [bytes.pieces(choices), bytes.prefix(line).parts(of: 1) + bytes.dropFirst(line).parts(of: chunk)] {
      let cut = certain("serve") { try serve(pieces) }
      promise(
        answers == self.answers(in: cut, to: bytes),
        "in pieces: \(String(decoding: cut, as: UTF8.self))\n\nwhole: \(String(decoding: whole, as: UTF8.self))")
    }
  }

  /// A malformed request with trailers that are too long is refused for either reason, depending on the parser. Both
  /// count as equal here.
  private static func answers(in sent: [UInt8], to bytes: [UInt8]) -> [HTTPAnswer]? {
    guard var answers = HTTPAnswer.all(in: sent) else { return nil }
    if bytes.count > HeadLimit.bytes, let last = answers.last, [400, 431].contains(last.status) {
      answers[answers.count - 1].status = 400
      answers[answers.count - 1].headers = []
      answers[answers.count - 1].body = []
    }
    return answers
  }

  /// All bytes sent to a client that sends these pieces and then closes its side.
  private static func serve(_ pieces: [ArraySlice<UInt8>]) throws -> [UInt8] {
    let channel = EmbeddedChannel()
    let loop = channel.embeddedEventLoop
    let connections = StatusConnections(StatusLimits())
    let connection = StatusConnection(routes: routes, limits: StatusLimits(), peer: 1000, connections: connections)
    for _ in 0..<4 { connections.startWork(for: connection) {} }
    try connection.join(channel)
    // A channel that was never connected is not active and receives nothing.
    channel.connect(to: try SocketAddress(unixDomainSocketPath: "/s"), promise: nil)
    promise(channel.isActive, "the connection is not open")
    var sent: [UInt8] = []
    func settle() throws {
      var isMoving = true
      while isMoving {
        loop.advanceTime(by: .milliseconds(1))
        isMoving = false
        while let data = try channel.readOutbound(as: IOData.self) {
          if case .byteBuffer(let buffer) = data { sent += buffer.readableBytesView }
          isMoving = true
        }
      }
    }
    for piece in pieces where channel.isActive {
      channel.pipeline.fireChannelRead(ByteBuffer(bytes: piece))
      channel.pipeline.fireChannelReadComplete()
      try settle()
    }
    channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    try settle()
    // After the time limit for incomplete requests, the daemon stops.
    loop.advanceTime(by: .seconds(11))
    try settle()
    connection.finish()
    try settle()
    connection.close()
    try settle()
    promise(!channel.isActive, "the connection stays")
    return sent
  }
}

extension RandomAccessCollection<UInt8> where SubSequence == ArraySlice<UInt8>, Index == Int {
  fileprivate func parts(of size: Int) -> [ArraySlice<UInt8>] {
    stride(from: startIndex, to: endIndex, by: size).map { self[$0..<Swift.min(endIndex, $0 + size)] }
  }
}
