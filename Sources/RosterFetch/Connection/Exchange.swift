import NIOCore
import NIOHTTP1
import RosterModel

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

  /// Call this after a wait for a connection. The exchange ends if its token has expired meanwhile (T2).
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
