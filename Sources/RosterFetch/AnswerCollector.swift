import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import RosterModel

/// Collects one answer on the transport's loop, so that an exchange costs its caller one wake-up.
final class AnswerCollector: HTTPClientResponseDelegate {
  private struct Answer {
    var head: HTTPResponseHead?
    var body: [UInt8] = []
  }

  private let answer: NIOLoopBoundBox<Answer>
  private let mostBytes: Int

  init(mostBytes: Int, on loop: any EventLoop) {
    self.mostBytes = mostBytes
    answer = .makeBoxSendingValue(Answer(), eventLoop: loop)
  }

  func didReceiveHead(task: HTTPClient.Task<Response>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
    answer.value.head = head
    let length = head.contentLength ?? 0
    guard length <= mostBytes else { return tooLarge(task) }
    answer.value.body.reserveCapacity(length)
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didReceiveBodyPart(task: HTTPClient.Task<Response>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
    guard answer.value.body.count + part.readableBytes <= mostBytes else { return tooLarge(task) }
    answer.value.body.append(contentsOf: part.readableBytesView)
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Response>) throws -> Response {
    // The client has refused an end without a head.
    guard let head = answer.value.head else { throw HTTPClientError.remoteConnectionClosed }
    return Response(head, body: answer.value.body)
  }

  /// On the loop: what an exchange that ended with `error` comes to.
  func settle(_ error: any Error) throws -> Response {
    guard let head = answer.value.head else { throw error }
    // A 304 has no body, but its Content-Encoding makes the decompressor look for one.
    if head.status == .notModified, head.isEncoded { return Response(head, body: []) }
    throw error.isEndOfConnection ? BodyCutOff() : error
  }

  private func tooLarge(_ task: HTTPClient.Task<Response>) -> EventLoopFuture<Void> {
    task.eventLoop.makeFailedFuture(NIOTooManyBytesError(maxBytes: mostBytes))
  }
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
  fileprivate var isEncoded: Bool { headers.contains(name: "Content-Encoding") }
}

extension Response {
  fileprivate init(_ head: HTTPResponseHead, body: [UInt8]) {
    self.init(
      status: Int(head.status.code), headers: head.headers.map { Request.Header($0.name, $0.value) }, body: body,
      received: head.isEncoded && head.status != .notModified ? head.contentLength : nil)
  }
}
