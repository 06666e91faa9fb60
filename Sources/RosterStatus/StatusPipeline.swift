import NIOCore
import NIOHTTP1
internal import RosterModel

/// HTTP/1.1 on one channel, between the socket's bytes and a `StatusConnection`.
enum StatusPipeline {
  static func add(_ connection: StatusConnection, to channel: any Channel) throws {
    var decoding = NIOHTTPDecoderLimitConfiguration()
    let head = RequestAssembly.Limits().head
    decoding.maxHeaderFieldSize = head
    decoding.maxHeaderListSize = head
    decoding.maxHeaderFieldCount = head / 4  // `a:` and the line's end: only the size counts
    var encoding = HTTPResponseEncoder.Configuration()
    encoding.automaticallySetFramingHeaders = false  // it knows nothing of HEAD
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(connection.gate)
    try pipeline.addHandler(HTTPResponseEncoder(configuration: encoding))
    try pipeline.addHandler(
      ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)))
    try pipeline.addHandler(connection)
  }
}

extension StatusRequest {
  init(_ head: HTTPRequestHead, peer: UInt32?) {
    self.init(
      method: head.method.rawValue, target: head.uri,
      headers: head.headers.map { Request.Header($0.name, $0.value) }, peer: peer,
      // This server never changes the protocol, but the parser stops where a change would be possible (RFC 9110 §7.8,
      // §9.3.6).
      keepAlive: head.isKeepAlive && !head.headers.contains(name: "upgrade") && head.method != .CONNECT)
    isHTTP11 = head.version.minor >= 1
  }
}
