import NIOCore
import NIOSSL

/// A connection that had served a request before ended without a byte of the next answer: the server closed it while it
/// was idle, and the request may be sent once more (RFC 9112 §9.3.1).
struct KeptConnectionEnded: Error {}

/// Tells that case apart from a server that answers nothing: only what lies between the connection and the HTTP decoder
/// can see it.
final class KeptConnection: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var answeredBefore = false
  private var awaitsFirstByte = false

  static func add(to channel: any Channel) throws {
    let pipeline = channel.pipeline.syncOperations
    if let tls = try? pipeline.handler(type: NIOSSLClientHandler.self) {
      try pipeline.addHandler(KeptConnection(), position: .after(tls))
    } else {
      try pipeline.addHandler(KeptConnection(), position: .first)
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    awaitsFirstByte = true
    context.write(data, promise: promise)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    answeredBefore = true
    awaitsFirstByte = false
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.fireErrorCaught(endedWhileKept ? KeptConnectionEnded() : error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if endedWhileKept { context.fireErrorCaught(KeptConnectionEnded()) }
    context.fireChannelInactive()
  }

  private var endedWhileKept: Bool { answeredBefore && awaitsFirstByte }
}
