import NIOCore
import NIOHTTP1
import NIOPosix
import RosterCore
import Synchronization

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

/// Failures at the proxy: no byte of the request has reached upstream. They are treated like a failed connection.
extension ProxyServer {
  /// The proxy could not be reached.
  func failed(by failure: Failure) -> Failure {
    failed(
      failure.reason, cause: "is out of reach: \(failure.cause)",
      hint: "see whether it is up, and whether \(setting) is right")
  }

  /// The proxy opens no tunnel to that origin, or requires credentials. 401 is a status of upstream, but tinyproxy too
  /// sends it for a CONNECT with a wrong password.
  func failed(status: Int, tunnel origin: Origin) -> Failure {
    guard status == Self.wantsCredentials || status == 401 else {
      return failed(.connection, cause: "opens no tunnel to \(origin.authority) (\(status))")
    }
    let demand = authorization == nil ? "wants a user and a password" : "refuses the user and the password"
    return failed(
      .connection, cause: "\(demand) (\(status))",
      hint: "put the right ones into \(setting): http://USER:PASSWORD@\(url.dropFirst("http://".count))")
  }

  /// The proxy ended the connection instead of opening a tunnel, or its answer is not HTTP.
  var closed: Failure { failed(.connection, cause: "opens no tunnel") }
  /// The proxy did not answer by the deadline.
  var silent: Failure { failed(.timeout, cause: "did not answer in time") }

  private func failed(_ reason: Failure.Reason?, cause: String, hint: String? = nil) -> Failure {
    let usual =
      "see in its log why; where upstream can be reached without it: upstream.proxy = \"none\", or its host in NO_PROXY"
    var failure = Failure(.unreachable, cause: "the proxy \(self) \(cause)", hint: hint ?? usual, reason: reason)
      .with(.proxy)
    failure.exchange?.isOfProxy = true
    failure.exchange?.isUnsent = true
    return failure
  }

  /// Only proxies send this status (RFC 9110 §15.5.8).
  fileprivate static let wantsCredentials = 407
}

extension Response {
  /// True if a proxy refused to relay the request because of its credentials. A 401 is the proxy's if its challenge is
  /// a proxy's (RFC 9110 §11.7.1). It is also the proxy's if tinyproxy itself answers: answers that tinyproxy relays
  /// have `Via` (RFC 9110 §7.6.3).
  var isProxyRefusal: Bool {
    guard status == 401 else { return status == ProxyServer.wantsCredentials }
    let isOwn = self["Via"] == nil && self["Server"]?.lowercased().hasPrefix("tinyproxy") == true
    return isOwn || self["Proxy-Authenticate"] != nil
  }
}

struct Route: Sendable {
  /// Requests with equal ways share connections.
  enum Way: Sendable, Hashable {
    case direct(Origin)
    /// A proxy gets the whole address (RFC 9112 §3.2.2), for plain HTTP.
    case relayed(ProxyServer)
    /// A proxy opens a tunnel (CONNECT) to that origin, for https.
    case tunnelled(ProxyServer, Origin)
  }

  let way: Way
  let origin: Origin
  /// The value of `Host` (RFC 9110 §7.2).
  let host: String

  var proxy: ProxyServer? {
    switch way {
    case .direct: nil
    case .relayed(let proxy), .tunnelled(let proxy, _): proxy
    }
  }
}

final class Routes: Sendable {
  private let rules: ProxyRules
  /// Routes by scheme and authority, as written. base_url and token_url have at most two.
  private let known = Mutex<[Substring: Route]>([:])

  init(_ rules: ProxyRules) {
    self.rules = rules
  }

  /// nil if the target is not the address of a server.
  func route(to target: RequestTarget) -> Route? {
    known.withLock { known in
      if let route = known[target.base] { return route }
      guard let origin = Origin(url: String(target.base)) else { return nil }
      let route = Route(way: way(to: origin), origin: origin, host: origin.hostField)
      if known.count < Self.maxKnown { known[target.base] = route }
      return route
    }
  }

  /// Limits the memory: upstream could invent any number of addresses.
  private static let maxKnown = 16

  private func way(to origin: Origin) -> Route.Way {
    guard let proxy = rules.proxy(scheme: origin.scheme, host: origin.host, port: origin.port) else {
      return .direct(origin)
    }
    return origin.scheme == "https" ? .tunnelled(proxy, origin) : .relayed(proxy)
  }
}
