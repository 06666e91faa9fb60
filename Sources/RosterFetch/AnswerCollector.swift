import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import RosterModel

/// Collects one answer on the transport's loop, so that an exchange costs its caller one wake-up.
///
/// A body is collected as it comes and decompressed when it is whole: so it is known how much came, and its faults are
/// told apart from those of the connection. Where the status alone decides what follows (P11, T3, T6), no fault of the
/// body takes it away.
final class AnswerCollector: HTTPClientResponseDelegate {
  private struct Answer {
    var head: HTTPResponseHead?
    var body: [UInt8] = []
    var received = 0
  }

  private let answer: NIOLoopBoundBox<Answer>
  private let method: Request.Method
  private let mostBytes: Int

  init(_ method: Request.Method, mostBytes: Int, on loop: any EventLoop) {
    self.method = method
    self.mostBytes = mostBytes
    answer = .makeBoxSendingValue(Answer(), eventLoop: loop)
  }

  func didReceiveHead(task: HTTPClient.Task<Response>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
    answer.value.head = head
    if let length = head.contentLength, length <= mostBytes { answer.value.body.reserveCapacity(length) }
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didReceiveBodyPart(task: HTTPClient.Task<Response>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
    answer.value.received += part.readableBytes
    guard max(answer.value.received, answer.value.head?.contentLength ?? 0) <= mostBytes else {
      return task.eventLoop.makeFailedFuture(BodyFault.tooLarge(mostBytes))
    }
    answer.value.body.append(contentsOf: part.readableBytesView)
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Response>) throws -> Response {
    // The client has refused an end without a head.
    guard let head = answer.value.head else { throw HTTPClientError.remoteConnectionClosed }
    return response(head, body: try content(head))
  }

  /// On the loop: what an exchange that ended with `error` comes to.
  func settle(_ error: any Error) throws -> Response {
    guard let head = answer.value.head, error as? HTTPClientError != .cancelled else { throw error }
    guard head.needsBody(method) else { return response(head, body: (try? content(head)) ?? []) }
    throw AnswerBroken(cause: error.isEndOfConnection ? BodyCutOff() : error, received: answer.value.received)
  }

  private func content(_ head: HTTPResponseHead) throws -> [UInt8] {
    guard head.isCompressed else { return answer.value.body }
    do { return try inflated(answer.value.body, mostBytes: mostBytes) } catch .cutShort where !head.tellsItsEnd {
      throw BodyCutOff()
    }
  }

  private func response(_ head: HTTPResponseHead, body: [UInt8]) -> Response {
    Response(
      status: Int(head.status.code), headers: head.headers.map { Request.Header($0.name, $0.value) }, body: body,
      received: answer.value.received)
  }
}

/// An answer that failed after its head.
struct AnswerBroken: Error {
  var cause: any Error
  /// Body bytes that came.
  var received: Int
}

/// The connection ended in the middle of an answer.
struct BodyCutOff: Error {}

extension Error {
  fileprivate var isEndOfConnection: Bool {
    switch self {
    case let error as HTTPClientError: error == .remoteConnectionClosed
    case let error as HTTPParserError: error == .invalidEOFState
    default: self is IOError
    }
  }
}

extension HTTPResponseHead {
  fileprivate var contentLength: Int? { headers.first(name: "Content-Length").flatMap { Int($0) } }

  /// What zlib can undo; `x-gzip` is another name of gzip (RFC 9110 §8.4.1).
  fileprivate var isCompressed: Bool {
    ["gzip", "x-gzip", "deflate"].contains(headers.first(name: "Content-Encoding")?.lowercased())
  }

  /// False where the body lasts until the connection ends (RFC 9112 §6.3).
  fileprivate var tellsItsEnd: Bool {
    headers.contains(name: "Content-Length") || headers.contains(name: "Transfer-Encoding")
  }

  /// Whether the answer is worth nothing without its body: a page, or a token that was granted.
  fileprivate func needsBody(_ method: Request.Method) -> Bool {
    switch method {
    case .get: status == .ok
    case .post: (200...299).contains(status.code)
    }
  }
}
