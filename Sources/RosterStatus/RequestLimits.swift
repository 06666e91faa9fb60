import NIOCore
import NIOHTTP1
internal import RosterModel

/// Counts the bytes of a head before the parser has all of it (S2.2). The parser limits the fields, but not the line.
final class HeadLimit: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  static let bytes = 16 * 1024

  private var received = 0
  /// True if the head is complete, or if the rest of the input does not matter.
  private var isOver = false

  /// Call this when the parser has the head.
  func end() { isOver = true }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = Self.unwrapInboundIn(data)
    if !isOver, let head = bytes.readSlice(length: min(bytes.readableBytes, Self.bytes + 1 - received)) {
      received += head.readableBytes
      context.fireChannelRead(Self.wrapInboundOut(head))
      if !isOver, received > Self.bytes {
        isOver = true
        context.fireErrorCaught(HTTPParserError.headerOverflow)
      }
    }
    if bytes.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(bytes)) }
  }
}

extension StatusRequest {
  init(_ head: HTTPRequestHead, peer: UInt32?) {
    self.init(
      method: head.method.rawValue, target: head.uri,
      headers: head.headers.map { Request.Header($0.name, $0.value.fieldValue) }, peer: peer)
    isHTTP11 = head.version.minor >= 1
  }

  /// Size limit of a body (S2.3).
  static let maxBody = 64 * 1024

  /// The refusal of a head; nil if it is accepted.
  var refusal: Response? {
    let hosts = values(of: "host").count
    if hosts != 1, hosts > 1 || isHTTP11 {
      return .problem(400, detail: "the request has not exactly one Host field (RFC 9112 section 3.2)")
    }
    if !isFramedWell {
      return .problem(
        400, detail: "the end of the body is not clear: only chunked, alone, is accepted (RFC 9112 section 6.3)")
    }
    return header("content-length").flatMap { Int($0) }.flatMap { $0 > Self.maxBody ? Self.tooLarge : nil }
  }

  /// Adds a part of the body. Returns the refusal if the body is too large.
  mutating func append(_ bytes: some Collection<UInt8>) -> Response? {
    if body.count + bytes.count > Self.maxBody { return Self.tooLarge }
    body += bytes
    return nil
  }

  private static var tooLarge: Response {
    .problem(413, detail: "the body of the request is longer than \(maxBody) bytes")
  }

  /// True if at most one header defines the end of the body.
  private var isFramedWell: Bool {
    let codings = values(of: "transfer-encoding")
    if codings.isEmpty { return true }
    return codings.count == 1 && codings[0].lowercased() == "chunked" && isHTTP11 && header("content-length") == nil
  }
}

extension HTTPParserError {
  /// The answer to input that cannot be read as a request.
  var refusal: Response {
    switch self {
    case .headerOverflow:
      // The hint concerns browsers, which send the cookies of all programs that have used this address.
      .problem(
        431,
        detail: "the head of the request is longer than \(HeadLimit.bytes) bytes; if a browser sent it, delete its "
          + "cookies for this address")
    default: .problem(400, detail: "this is not an HTTP/1.1 request (RFC 9112)")
    }
  }
}
