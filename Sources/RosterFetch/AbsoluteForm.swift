import NIOCore
import NIOHTTP1
import RosterModel

/// Asks a proxy for the whole address of a server (RFC 9112 §3.2.2). AsyncHTTPClient knows CONNECT only, which many
/// proxies allow for port 443 alone: so it is made to ask the proxy as if that was the server, and what it writes is
/// put right here.
final class AbsoluteForm: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  private let authorization: String?

  private init(_ proxy: ProxyServer) {
    authorization = proxy.authorization.map { "Basic \($0.reveal())" }
  }

  static func add(to channel: any Channel, for proxy: ProxyServer) throws {
    let pipeline = channel.pipeline.syncOperations
    let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
    try pipeline.addHandler(AbsoluteForm(proxy), position: .after(encoder))
  }

  /// The request as it is handed to the client: the proxy's address, the server's name in `Host`.
  static func addressed(
    _ url: String, _ headers: HTTPHeaders, to proxy: ProxyServer
  ) -> (url: String, headers: HTTPHeaders) {
    guard let authority = Origin.authority(of: url) else { return (url, headers) }
    var headers = headers
    headers.replaceOrAdd(name: "Host", value: String(authority))
    return (proxy.url + url[authority.endIndex...], headers)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .head(var head) = unwrapOutboundIn(data), let host = head.headers.first(name: "Host") else {
      return context.write(data, promise: promise)
    }
    head.uri = "http://\(host)\(head.uri)"
    if let authorization { head.headers.replaceOrAdd(name: "Proxy-Authorization", value: authorization) }
    context.write(wrapOutboundOut(.head(head)), promise: promise)
  }
}
