import Glibc
import Synchronization

/// A server on loopback that sends its answers piece by piece without storing them, so that they may have any size.
/// Each connection has one request.
package final class StreamingServer: Sendable {
  /// One answer, to every request.
  package struct Answer: Sendable {
    /// Status line and headers, without the empty line.
    package var head: [String]
    /// The repeated part of the body.
    package var piece: [UInt8]
    /// Number of repetitions.
    package var times: Int

    /// The body has a single piece by default.
    package init(_ head: [String] = ["HTTP/1.1 200 OK"], piece: [UInt8], times: Int = 1) {
      self.head = head
      self.piece = piece
      self.times = times
    }
  }

  /// The received requests and the sent bytes.
  package struct Counts: Sendable {
    /// Number of requests since the answer was chosen.
    package var requests = 0
    /// Number of body bytes sent since the answer was chosen.
    package var bytesSent = 0
  }

  private struct State {
    var answer: Answer
    var counts = Counts()
  }

  private let server: ThreadedServer
  private let state: Mutex<State>

  private init(_ answer: Answer) throws {
    server = try ThreadedServer()
    state = Mutex(State(answer: answer))
  }

  /// Runs the server while `body` runs.
  package static func run(_ answer: Answer, body: (StreamingServer) async throws -> Void) async throws {
    let streaming = try StreamingServer(answer)
    try await streaming.server.run(serve: { streaming.serve($0) }, body: { try await body(streaming) })
  }

  /// The port on 127.0.0.1.
  package var port: Int { server.port }
  /// The counts since the answer was chosen.
  package var counts: Counts { state.withLock { $0.counts } }

  /// Chooses the answer to later requests.
  package func answer(_ answer: Answer) {
    state.withLock { $0 = State(answer: answer) }
  }

  private func serve(_ client: CInt) {
    var rest: [UInt8] = []
    guard receiveHead(client, rest: &rest) != nil else { return }
    let answer = state.withLock { state in
      state.counts.requests += 1
      return state.answer
    }
    let head = (answer.head + ["Connection: close"]).joined(separator: "\r\n")
    guard sendAll("\(head)\r\n\r\n".utf8, to: client) else { return }
    for _ in 0..<answer.times {
      guard sendAll(answer.piece, to: client) else { return }
      state.withLock { $0.counts.bytesSent += answer.piece.count }
    }
    // Unread bytes of the request must not cause a reset that destroys the answer.
    shutdown(client, CInt(SHUT_WR))
    while receive(client) != nil {}
  }
}
