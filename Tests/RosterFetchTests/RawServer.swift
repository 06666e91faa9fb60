import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that says what a test tells it to, byte by byte: for what the simulator, a proper HTTP server, cannot do.
final class RawServer: Sendable {
  enum Ending: Sendable { case keep, close, reset }

  /// What follows on the first bytes of a request.
  struct Answer: Sendable {
    var bytes: [UInt8]
    var ending: Ending

    init(_ bytes: [UInt8] = [], _ ending: Ending = .close) {
      self.bytes = bytes
      self.ending = ending
    }

    init(_ text: String, body: [UInt8] = [], _ ending: Ending = .close) {
      self.init(Array(text.utf8) + body, ending)
    }
  }

  private let group: MultiThreadedEventLoopGroup
  private let script: Script
  let port: Int

  private init(group: MultiThreadedEventLoopGroup, script: Script, port: Int) {
    self.group = group
    self.script = script
    self.port = port
  }

  /// The n-th request gets the n-th answer; the last one is given again from then on.
  static func run(_ answers: Answer..., body: (RawServer) async throws -> Void) async throws {
    let script = Script(answers)
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

  var requests: Int { script.served.withLock { $0 } }
}

private final class Script: Sendable {
  let served = Mutex(0)
  private let answers: [RawServer.Answer]

  init(_ answers: [RawServer.Answer]) {
    self.answers = answers
  }

  func next() -> RawServer.Answer {
    let number = served.withLock { served in
      served += 1
      return served
    }
    return answers[min(number, answers.count) - 1]
  }
}

private final class RawConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let script: Script

  init(_ script: Script) {
    self.script = script
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let answer = script.next()
    let channel = context.channel
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

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
