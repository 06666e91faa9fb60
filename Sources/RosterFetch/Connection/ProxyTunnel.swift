import NIOCore
import NIOHTTP1
import NIOPosix
import RosterModel

/// A tunnel through a proxy (CONNECT, RFC 9110 §9.3.6).
enum ProxyTunnel {
  /// The connection to the server through the proxy. Fails with a `Failure`.
  static func open(
    to origin: Origin, by proxy: ProxyServer, deadline: NIODeadline, on loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    TCP.connect(to: proxy, by: deadline, on: loop).flatMap { channel in
      let opened = loop.makePromise(of: Void.self)
      let alarm = loop.scheduleTask(deadline: deadline) { opened.fail(proxy.silent) }
      opened.futureResult.whenFailure { _ in channel.close(promise: nil) }
      do {
        try channel.pipeline.syncOperations.addHandlers([
          HTTPRequestEncoder(), ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes)),
          Connect(to: origin, by: proxy, opened),
        ])
      } catch { opened.fail(proxy.closed) }
      return opened.futureResult.flatMap {
        alarm.cancel()
        return bare(channel)
      }
    }
  }

  /// Removes the handlers that spoke with the proxy.
  private static func bare(_ channel: any Channel) -> EventLoopFuture<any Channel> {
    do {
      let pipeline = channel.pipeline.syncOperations
      let removals = [
        pipeline.removeHandler(context: try pipeline.context(handlerType: Connect.self)),
        pipeline.removeHandler(
          context: try pipeline.context(handlerType: ByteToMessageHandler<HTTPResponseDecoder>.self)),
        pipeline.removeHandler(context: try pipeline.context(handlerType: HTTPRequestEncoder.self)),
      ]
      return EventLoopFuture.andAllSucceed(removals, on: channel.eventLoop).map { channel }
    } catch { return channel.eventLoop.makeFailedFuture(error) }
  }
}

private final class Connect: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let origin: Origin
  private let proxy: ProxyServer
  private let opened: EventLoopPromise<Void>

  init(to origin: Origin, by proxy: ProxyServer, _ opened: EventLoopPromise<Void>) {
    self.origin = origin
    self.proxy = proxy
    self.opened = opened
  }

  func handlerAdded(context: ChannelHandlerContext) {
    var head = HTTPRequestHead(version: .http1_1, method: .CONNECT, uri: origin.authority)
    head.headers.add(name: "Host", value: origin.authority)
    if let authorization = proxy.authorization {
      head.headers.add(name: "Proxy-Authorization", value: "Basic \(authorization.reveal())")
    }
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head) where !(200...299).contains(head.status.code):
      opened.fail(proxy.failed(status: Int(head.status.code), tunnel: origin))
    case .end: opened.succeed()
    case .head, .body: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    opened.fail(proxy.closed)
  }

  func channelInactive(context: ChannelHandlerContext) {
    opened.fail(proxy.closed)
  }
}
