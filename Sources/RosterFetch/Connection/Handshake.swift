import NIOCore
import NIOSSL
import NIOTLS
import RosterModel

/// Waits until the TLS handshake has ended.
final class Handshake: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Never

  private let done: EventLoopPromise<Void>

  private init(_ done: EventLoopPromise<Void>) {
    self.done = done
  }

  /// Begins the handshake over an open channel, on its loop. Fails with an error of NIOSSL or a `Failure`;
  /// the channel is then useless.
  static func begin(
    on channel: any Channel, _ tls: NIOSSLClientHandler, by deadline: NIODeadline
  ) throws -> EventLoopFuture<Void> {
    let done = channel.eventLoop.makePromise(of: Void.self)
    let alarm = channel.eventLoop.scheduleTask(deadline: deadline) { done.fail(Failure.handshakeLate) }
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
    done.fail(Failure.handshakeBrokenOff)
    context.fireChannelInactive()
  }
}
