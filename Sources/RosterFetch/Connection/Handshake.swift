import NIOCore
import NIOSSL
import NIOTLS

/// Waits until TLS is there.
final class Handshake: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Never

  private let done: EventLoopPromise<Void>

  private init(_ done: EventLoopPromise<Void>) {
    self.done = done
  }

  /// Begins it over an open channel, on its loop. Fails with what NIOSSL throws, with `TLSBrokenOff` or a
  /// `HandshakeTimeout`; the channel then is of no use.
  static func begin(
    on channel: any Channel, _ tls: NIOSSLClientHandler, by deadline: NIODeadline
  ) throws -> EventLoopFuture<Void> {
    let done = channel.eventLoop.makePromise(of: Void.self)
    let alarm = channel.eventLoop.scheduleTask(deadline: deadline) { done.fail(HandshakeTimeout()) }
    let pipeline = channel.pipeline.syncOperations
    let watch = Handshake(done)
    try pipeline.addHandlers([tls, watch])
    done.futureResult.assumeIsolated().whenComplete { _ in
      alarm.cancel()
      pipeline.removeHandler(watch, promise: nil)
    }
    return done.futureResult
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted = event { done.succeed() }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    done.fail(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    done.fail(TLSBrokenOff())
    context.fireChannelInactive()
  }
}

/// The handshake failed, and not because of the server's certificate.
struct TLSBrokenOff: Error {}

/// It did not come to its end by the deadline.
struct HandshakeTimeout: Error {}
