import Dispatch
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
    var sockets: Set<CInt> = []
    var isStopped = false
  }

  /// The port on 127.0.0.1.
  package let port: Int
  private let listener: CInt
  private let state: Mutex<State>
  private let threads = DispatchGroup()

  private init(_ answer: Answer) throws {
    (listener, port) = try listeningSocket()
    state = Mutex(State(answer: answer))
  }

  /// Runs the server while `body` runs.
  package static func run(_ answer: Answer, body: (StreamingServer) async throws -> Void) async throws {
    let server = try StreamingServer(answer)
    server.thread { server.accept() }
    do { try await body(server) } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  /// The counts since the answer was chosen.
  package var counts: Counts { state.withLock { $0.counts } }

  /// Chooses the answer to later requests.
  package func answer(_ answer: Answer) {
    state.withLock { state in
      state.answer = answer
      state.counts = Counts()
    }
  }

  private func stop() async {
    let sockets = state.withLock { state in
      state.isStopped = true
      return state.sockets
    }
    // The threads that write to these sockets wake up and close them.
    for socket in sockets { shutdown(socket, CInt(SHUT_RDWR)) }
    shutdown(listener, CInt(SHUT_RDWR))
    await withCheckedContinuation { done in
      threads.notify(queue: DispatchQueue(label: "streaming-end")) { done.resume() }
    }
    close(listener)
  }

  /// Each thread has its own queue: blocked threads of the global queue would delay every task of this process.
  private func thread(_ work: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "streaming").async(group: threads, execute: DispatchWorkItem(block: work))
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      if client < 0 { return }
      // A program that is started at the same time must not inherit the socket.
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      thread { self.serve(client) }
    }
  }

  private func serve(_ client: CInt) {
    let isServed = state.withLock { state in
      if !state.isStopped { state.sockets.insert(client) }
      return !state.isStopped
    }
    if isServed, readHead(client) { send(to: client) }
    state.withLock { _ = $0.sockets.remove(client) }
    close(client)
  }

  private func send(to client: CInt) {
    let answer = state.withLock { state in
      state.counts.requests += 1
      return state.answer
    }
    guard write(client, bytes: Array("\((answer.head + ["Connection: close"]).joined(separator: "\r\n"))\r\n\r\n".utf8))
    else {
      return
    }
    for _ in 0..<answer.times {
      guard write(client, bytes: answer.piece) else { return }
      state.withLock { $0.counts.bytesSent += answer.piece.count }
    }
    // Unread bytes of the request must not cause a reset that destroys the answer.
    shutdown(client, CInt(SHUT_WR))
    var byte: UInt8 = 0
    while recv(client, &byte, 1, 0) > 0 {}
  }

  private func readHead(_ client: CInt) -> Bool {
    var last: [UInt8] = []
    var byte: UInt8 = 0
    while recv(client, &byte, 1, 0) == 1 {
      last = last.suffix(3) + [byte]
      if last.elementsEqual("\r\n\r\n".utf8) { return true }
    }
    return false
  }

  private func write(_ client: CInt, bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(client, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
