import NIOCore
import NIOHTTP1
import RosterModel

/// One request on its way, and what has come of its answer. It lives on the transport's loop and ends once.
final class Exchange {
  enum Phase {
    /// For a connection that is in use.
    case waiting
    /// Its own connection is being made.
    case connecting
    /// The server may have seen it.
    case written
  }

  let message: Message
  let deadline: NIODeadline
  let needsNewConnection: Bool
  var phase = Phase.waiting
  var answer: Answer
  private var continuation: UnsafeContinuation<Response, any Error>?
  private let ended: () -> Void

  /// - Parameter ended: called once, before whoever waits goes on.
  init(
    _ message: Message, by deadline: NIODeadline, needsNewConnection: Bool,
    _ continuation: UnsafeContinuation<Response, any Error>, ended: @escaping () -> Void
  ) {
    self.message = message
    self.deadline = deadline
    self.needsNewConnection = needsNewConnection
    self.continuation = continuation
    self.ended = ended
    answer = Answer(to: message.method)
  }

  /// Somebody gave it up, or it has its answer.
  var isOver: Bool { continuation == nil }

  func finish() {
    end(Result { try answer.whole() })
  }

  /// What came before may be answer enough.
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
