import NIOCore
import NIOHTTP1
import NIOPosix
import RosterModel

/// A tunnel through a proxy (CONNECT, RFC 9110 §9.3.6), for a look at what AsyncHTTPClient's own one does not tell.
enum ProxyTunnel {
  /// Asks for a tunnel once more, and hangs up. nil: it is opened now, nobody answers, or the caller is cancelled.
  static func refusal(
    to origin: Origin, by proxy: ProxyServer, deadline: NIODeadline, on loop: any EventLoop
  ) async -> ProxyFault? {
    let answer = loop.makePromise(of: ProxyFault?.self)
    open(to: origin, by: proxy, deadline: deadline, on: loop).whenComplete { result in
      switch result {
      case .success(let channel):
        channel.close(promise: nil)
        answer.succeed(nil)
      case .failure(let error): answer.succeed(error as? ProxyFault)
      }
    }
    return await withTaskCancellationHandler {
      try? await answer.futureResult.get()
    } onCancel: {
      answer.succeed(nil)
    }
  }

  /// The connection that leads to the server. Fails with a `ProxyFault` where the proxy refuses.
  static func open(
    to origin: Origin, by proxy: ProxyServer, deadline: NIODeadline, on loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    let opened = loop.makePromise(of: Void.self)
    let alarm = loop.scheduleTask(deadline: deadline) { opened.fail(ChannelError.eof) }
    let connect = ClientBootstrap(group: loop).connectTimeout(max(deadline - .now(), .milliseconds(1)))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let handlers: [any ChannelHandler] = [
            HTTPRequestEncoder(), ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes)),
            Connect(to: origin, by: proxy, opened),
          ]
          try channel.pipeline.syncOperations.addHandlers(handlers)
        }
      }.connect(host: proxy.host, port: proxy.port)
    connect.whenFailure(opened.fail)
    opened.futureResult.whenComplete { result in
      alarm.cancel()
      if case .failure = result { connect.whenSuccess { $0.close(promise: nil) } }
    }
    return connect.and(opened.futureResult).flatMap { channel, _ in bare(channel) }
  }

  /// Without the handlers that spoke with the proxy.
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

  func channelActive(context: ChannelHandlerContext) {
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
      opened.fail(ProxyFault(proxy: proxy, kind: .refused(Int(head.status.code), origin)))
    case .end: opened.succeed()
    case .head, .body: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    opened.fail(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    opened.fail(ChannelError.eof)
  }
}
