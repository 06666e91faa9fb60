import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import RosterModel

/// Shakes hands once more without verification, sends nothing, and hangs up: what the first handshake refused can be
/// looked at.
enum SecondHandshake {
  /// The chain as the server sent it, its own certificate first. Throws where the handshake fails this time too: then
  /// it was not the certificate that was refused.
  static func chain(
    of origin: Origin, by proxy: ProxyServer?, deadline: NIODeadline, on loop: any EventLoop
  ) async throws -> [NIOSSLCertificate] {
    var configuration = TLSConfiguration(trusting: nil)
    configuration.trustRoots = .certificates([])
    configuration.certificateVerification = .noHostnameVerification
    let context = try NIOSSLContext(configuration: configuration)
    let answer = loop.makePromise(of: [NIOSSLCertificate].self)
    let alarm = loop.scheduleTask(deadline: deadline) { answer.fail(ChannelError.eof) }
    let connect = connection(to: origin, by: proxy, deadline: deadline, on: loop).flatMapThrowing { channel in
      try add(to: channel, context, name: origin.serverName, answer)
      return channel
    }
    connect.whenFailure(answer.fail)
    answer.futureResult.whenComplete { _ in
      alarm.cancel()
      connect.whenSuccess { $0.close(promise: nil) }
    }
    return try await withTaskCancellationHandler {
      try await answer.futureResult.get()
    } onCancel: {
      // At once: a connection that is still being made cannot be broken off.
      answer.fail(CancellationError())
    }
  }

  private static func connection(
    to origin: Origin, by proxy: ProxyServer?, deadline: NIODeadline, on loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    if let proxy { return ProxyTunnel.open(to: origin, by: proxy, deadline: deadline, on: loop) }
    return ClientBootstrap(group: loop).connectTimeout(max(deadline - .now(), .milliseconds(1)))
      .connect(host: origin.host, port: origin.port)
  }

  private static func add(
    to channel: any Channel, _ context: NIOSSLContext, name: String?, _ answer: EventLoopPromise<[NIOSSLCertificate]>
  ) throws {
    let watch = HandshakeWatch(answer)
    let tls = try NIOSSLClientHandler(context: context, serverHostname: name) { chain, verdict in
      watch.chain = chain
      // Nothing is sent over this connection, so there is nothing to protect.
      verdict.succeed(.certificateVerified)
    }
    try channel.pipeline.syncOperations.addHandlers([tls, watch])
  }
}

private final class HandshakeWatch: ChannelInboundHandler {
  typealias InboundIn = Never

  var chain: [NIOSSLCertificate] = []
  private let answer: EventLoopPromise<[NIOSSLCertificate]>

  init(_ answer: EventLoopPromise<[NIOSSLCertificate]>) {
    self.answer = answer
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case TLSUserEvent.handshakeCompleted = event else { return }
    answer.succeed(chain)
    context.close(promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    answer.fail(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    answer.fail(ChannelError.eof)
  }
}

extension Origin {
  /// For SNI, which knows no addresses (RFC 6066 §3).
  fileprivate var serverName: String? {
    (try? SocketAddress(ipAddress: host, port: port)) == nil ? host : nil
  }
}
