import FoundationEssentials
import NIOCore
import NIOHTTP1
import RosterCore

/// A request and the part of its answer that has arrived. Only the transport's loop uses it, and it ends once.
final class Exchange {
  enum Phase {
    /// Waits for a connection that is in use.
    case waiting
    /// Its own connection is being opened.
    case connecting
    /// The server may have received the request.
    case written
  }

  let message: Message
  let deadline: NIODeadline
  /// End of the access token; nil if it is unknown.
  private let tokenEnd: NIODeadline?
  let needsNewConnection: Bool
  var phase = Phase.waiting
  var answer: Answer
  private var continuation: UnsafeContinuation<Response, any Error>?
  private let ended: () -> Void

  /// - Parameter ended: called once, before the caller continues.
  init(
    _ message: Message, by deadline: NIODeadline, tokenEnd: NIODeadline?, needsNewConnection: Bool,
    continuation: UnsafeContinuation<Response, any Error>, ended: @escaping () -> Void
  ) {
    self.message = message
    self.deadline = deadline
    self.tokenEnd = tokenEnd
    self.needsNewConnection = needsNewConnection
    self.continuation = continuation
    self.ended = ended
    answer = Answer(to: message.method)
  }

  /// True if the exchange was cancelled or has its answer.
  var isOver: Bool { continuation == nil }

  /// Call this after a wait for a connection. The exchange ends if its token has expired meanwhile.
  func expectLiveToken() {
    if let tokenEnd, tokenEnd <= NIODeadline.now() { fail(Failure.tokenOutlived) }
  }

  func finish() {
    end(Result { try answer.whole() })
  }

  /// Ends the exchange. The part of the answer that has arrived may be sufficient.
  func fail(_ error: any Error) {
    let isWritten = phase == .written
    end(Result { try answer.settled(error, isUnsent: !isWritten) })
  }

  private func end(_ result: Result<Response, any Error>) {
    guard let continuation else { return }
    self.continuation = nil
    ended()
    continuation.resume(with: result)
  }
}

/// A request in the form in which it is written.
struct Message: Sendable {
  let method: Request.Method
  let way: Route.Way
  let head: HTTPRequestHead
  let body: [UInt8]

  /// Throws a `Failure`.
  init(_ request: Request, target: RequestTarget, by route: Route) throws {
    method = request.method
    way = route.way
    body = request.body
    var headers = HTTPHeaders()
    headers.reserveCapacity(request.headers.count + Self.ownHeaders)
    headers.add(name: "Host", value: route.host)
    for header in request.headers {
      guard header.name.isHTTPToken, header.value.hasOnly(Self.isOfLine) else { throw Failure.unusableRequest }
      headers.add(name: header.name, value: header.value)
    }
    headers.add(name: "Accept-Encoding", value: "gzip")
    if request.method == .post { headers.add(name: "Content-Length", value: "\(body.count)") }
    var uri = target.path
    if case .relayed(let proxy) = route.way {
      // RFC 9112 §3.2.2
      uri = "http://\(route.host)\(uri)"
      if let authorization = proxy.authorization {
        headers.add(name: "Proxy-Authorization", value: "Basic \(authorization.reveal())")
      }
    }
    head = HTTPRequestHead(
      version: .http1_1, method: request.method == .get ? .GET : .POST, uri: uri, headers: headers)
  }

  /// Largest number of headers that are added to the request's own.
  private static let ownHeaders = 4

  /// False for a byte that would begin another field (RFC 9110 §5.5).
  private static func isOfLine(_ byte: UInt8) -> Bool { byte != 0x0D && byte != 0x0A && byte != 0 }
}

/// The two parts of an address: the server, and the target in the request line (RFC 9112 §3.2.1).
struct RequestTarget {
  /// Scheme and authority.
  let base: Substring
  /// Path and query; at least "/".
  let path: String

  /// nil if the text has no `://`, or cannot be written as a URL.
  init?(_ url: String) {
    guard var url = url.hasOnly(Self.canBeSent) ? url : URL(written: url)?.absoluteString,
      let (end, path) = url.withUTF8(Self.divided)
    else { return nil }
    base = url[..<url.utf8.index(url.startIndex, offsetBy: end)]
    self.path = path
  }

  /// The offset at which the authority ends, and the path with the query.
  private static func divided(_ url: UnsafeBufferPointer<UInt8>) -> (end: Int, path: String)? {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url[colon...].starts(with: "://".utf8) else { return nil }
    let end = url[(colon + 3)...].firstIndex(where: endsAuthority) ?? url.endIndex
    let written = url[end...].prefix { $0 != UInt8(ascii: "#") }
    let path = String(decoding: written, as: UTF8.self)
    return (end, written.first == UInt8(ascii: "/") ? path : "/\(path)")
  }

  /// The end of an authority (RFC 3986 §3.2).
  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  /// A byte that RFC 3986 allows; any other byte is percent-encoded.
  private static func canBeSent(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"),
      UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      false
    default: byte > 0x20 && byte < 0x7F
    }
  }
}
