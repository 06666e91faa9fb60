import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that sends exactly the bytes of a test. The simulator, a proper HTTP server, cannot do that.
final class RawServer: Sendable {
  enum Ending: Sendable { case keep, close, reset }

  /// The reaction to the first bytes of a request.
  struct Answer: Sendable {
    var bytes: [UInt8]
    var ending: Ending

    init(_ bytes: [UInt8] = [], ending: Ending = .close) {
      self.bytes = bytes
      self.ending = ending
    }

    init(_ text: String, body: [UInt8] = [], ending: Ending = .close) {
      self.init(Array(text.utf8) + body, ending: ending)
    }
  }

  /// The choice of the answer to a request.
  enum Order: Sendable {
    /// The n-th request gets the n-th answer.
    case ofAll
    /// The n-th request of each connection gets the n-th answer. The first `crowd` requests are answered together.
    case ofConnection(crowd: Int)
  }

  private let group: MultiThreadedEventLoopGroup
  private let script: Script
  let port: Int

  private init(group: MultiThreadedEventLoopGroup, script: Script, port: Int) {
    self.group = group
    self.script = script
    self.port = port
  }

  /// Later requests get the last answer again.
  static func run(
    _ answers: Answer..., order: Order = .ofAll, body: (RawServer) async throws -> Void
  ) async throws {
    let script = Script(answers, order: order)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let channel = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(RawConnection(script))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let server = RawServer(group: group, script: script, port: channel.localAddress?.port ?? 0)
    do { try await body(server) } catch {
      try await group.shutdownGracefully()
      throw error
    }
    try await group.shutdownGracefully()
  }

  var requests: Int { script.served.withLock { $0.requests } }
  var connections: Int { script.served.withLock { $0.connections } }

  /// Returns when the next connection has ended.
  func connectionEnds() async {
    for await _ in script.ends { return }
  }
}

private final class Script: Sendable {
  struct Served {
    var requests = 0
    var connections = 0
    var waiting: [@Sendable () -> Void] = []
  }

  let served = Mutex(Served())
  let ends: AsyncStream<Void>
  let ended: AsyncStream<Void>.Continuation
  private let answers: [RawServer.Answer]
  private let order: RawServer.Order

  init(_ answers: [RawServer.Answer], order: RawServer.Order) {
    self.answers = answers
    self.order = order
    (ends, ended) = AsyncStream.makeStream(of: Void.self)
  }

  /// - Parameter number: of the request on its connection, from 1.
  func answer(_ number: Int, give: @escaping @Sendable (RawServer.Answer) -> Void) {
    let due = served.withLock { served in
      served.requests += 1
      if number == 1 { served.connections += 1 }
      var crowd = 1
      var answer = served.requests
      if case .ofConnection(let size) = order { (crowd, answer) = (size, number) }
      let answered = answers[min(answer, answers.count) - 1]
      served.waiting.append { give(answered) }
      guard served.requests >= crowd else { return [@Sendable () -> Void]() }
      defer { served.waiting = [] }
      return served.waiting
    }
    for answer in due { answer() }
  }
}

private final class RawConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let script: Script
  private var requests = 0

  init(_ script: Script) {
    self.script = script
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    requests += 1
    script.answer(requests) { [channel = context.channel] in Self.give($0, on: channel) }
  }

  private static func give(_ answer: RawServer.Answer, on channel: any Channel) {
    let written = channel.writeAndFlush(ByteBuffer(bytes: answer.bytes))
    switch answer.ending {
    case .keep: break
    case .close: written.whenComplete { _ in channel.close(promise: nil) }
    case .reset:
      // SO_LINGER with no time to linger: close sends RST, not FIN (socket(7)).
      guard let socket = channel as? any SocketOptionProvider else { return channel.close(promise: nil) }
      socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    script.ended.yield()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
