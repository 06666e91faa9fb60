import NIOCore
import NIOSSL
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
    connection(to: origin, by: proxy, deadline: deadline, on: loop).flatMap { channel in
      let chain = Self.chain(on: channel, context, name: origin.serverName, deadline: deadline)
      answer.futureResult.whenComplete { _ in channel.close(promise: nil) }
      return chain
    }.cascade(to: answer)
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
    return TCP.connect(to: origin.host, origin.port, by: deadline, on: loop)
  }

  private static func chain(
    on channel: any Channel, _ context: NIOSSLContext, name: String?, deadline: NIODeadline
  ) -> EventLoopFuture<[NIOSSLCertificate]> {
    do {
      let chain = NIOLoopBoundBox<[NIOSSLCertificate]>([], eventLoop: channel.eventLoop)
      let tls = try NIOSSLClientHandler(context: context, serverHostname: name) { sent, verdict in
        chain.value = sent
        // Nothing is sent over this connection, so there is nothing to protect.
        verdict.succeed(.certificateVerified)
      }
      return try Handshake.begin(on: channel, tls, by: deadline).map { chain.value }
    } catch { return channel.eventLoop.makeFailedFuture(error) }
  }
}
