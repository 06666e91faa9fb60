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
