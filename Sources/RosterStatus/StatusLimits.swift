import Glibc
internal import Logging
import NIOCore
import NIOHTTP1
internal import RosterCore
import Synchronization

/// Limits for all clients of the status socket together.
package struct StatusLimits: Sendable {
  /// Number of open connections. Beyond it, the connection that has been idle longest is closed.
  package var connections = most
  /// Time for a request to become complete, from the connection or its first byte on.
  package var incomplete = Duration.seconds(10)
  /// Number of answers that are made from the database at a time: a thousand syncs take half a megabyte before they
  /// become text.
  package var maxWork = 4

  /// The documented limits, whatever the process may open.
  package init() {}

  /// - Parameter descriptors: limit of open descriptors of the process (RLIMIT_NOFILE). Permanent clients must leave
  ///   enough of them for the sync.
  init(descriptors: Int) {
    connections = min(Self.most, max(Self.fewest, descriptors - Self.reserved))
  }

  /// The limits that follow from the current limit of descriptors.
  package static var ofThisProcess: StatusLimits { StatusLimits(descriptors: sysconf(Int32(_SC_OPEN_MAX))) }

  /// Any local user may connect to this socket. It leaves most descriptors to the other one.
  package static var ofMetricsSocket: StatusLimits {
    var limits = ofThisProcess
    limits.connections = min(64, limits.connections)
    return limits
  }

  private static let most = 256
  /// Enough for an administrator who investigates a failure.
  private static let fewest = 8
  /// Twice 64 connections to upstream (a reload replaces all of them), the cache's files, timers and queues.
  private static let reserved = 256
}

/// A handler in the pipeline of a listener. If no descriptor is free for the next client, it accepts no clients for a
/// while, and logs a warning.
///
/// NIO's AcceptBackoffHandler does not help: the listener stays registered for reading while its error is handled, so
/// that the loop is woken again at once.
final class AcceptPause: ChannelInboundHandler {
  typealias InboundIn = any Channel

  private let warning: RareWarning

  init(_ warning: RareWarning) {
    self.warning = warning
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard error is IOError else { return context.fireErrorCaught(error) }
    warning.tell("a client of the status socket waits: \(error)")
    let channel = context.channel
    try? channel.syncOptions?.setOption(.autoRead, value: false)
    channel.eventLoop.assumeIsolated().scheduleTask(in: Self.length) {
      try? channel.syncOptions?.setOption(.autoRead, value: true)
    }
  }

  /// A pause after which a descriptor may be free.
  private static let length = TimeAmount.seconds(1)
}

/// A warning about a condition that may last: logged the first time, then at most once a minute.
final class RareWarning: Sendable {
  private let logger: Logger
  private let last = Mutex<NIODeadline?>(nil)

  init(_ logger: Logger) {
    self.logger = logger
  }

  func tell(_ sentence: String) {
    let isDue = last.withLock { last in
      let now = NIODeadline.now()
      if let last, now - last < Self.distance { return false }
      last = now
      return true
    }
    if isDue { logger.warning("\(sentence)") }
  }

  private static let distance = TimeAmount.minutes(1)
}

/// Counts the bytes of a head before the parser has all of it. The parser limits the fields, but not the line.
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
      headers: head.headers.map { Request.Header($0.name, $0.value.trimmed) }, peer: peer)
    isHTTP11 = head.version.minor >= 1
  }

  /// Size limit of a body.
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
