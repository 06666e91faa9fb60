import Dispatch
import Glibc
import Synchronization

struct Unavailable: Error { var code: CInt }

/// Calls `body` with an address on 127.0.0.1; port 0 for any free one. `body` may replace the address.
private func withLoopback<Result>(
  _ port: Int, body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Result
) -> (result: Result, port: Int) {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
  address.sin_port = UInt16(port).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let result = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &size) }
  }
  return (result, Int(UInt16(bigEndian: address.sin_port)))
}

/// A listening socket with its port.
func listeningSocket(backlog: CInt = 64) throws -> (socket: CInt, port: Int) {
  let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  let (isBound, port) = withLoopback(0) { address, size in
    bind(listener, address, size) == 0 && listen(listener, backlog) == 0 && getsockname(listener, address, &size) == 0
  }
  guard isBound else { throw Unavailable(code: errno) }
  return (listener, port)
}

/// A socket that connects to a port of 127.0.0.1, and whether it has connected already.
func connectingSocket(to port: Int, isBlocking: Bool = true) -> (socket: CInt, isConnected: Bool) {
  let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (isBlocking ? 0 : SOCK_NONBLOCK.rawValue)
  let client = socket(AF_INET, CInt(type), 0)
  return (client, withLoopback(port) { connect(client, $0, $1) == 0 }.result)
}

/// The next bytes; nil at the end.
func receive(_ socket: CInt) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: 65536)
  let count = recv(socket, &bytes, bytes.count, 0)
  return count > 0 ? Array(bytes[..<count]) : nil
}

/// The head of the next request; nil at the end. `rest` has the received bytes after it.
func receiveHead(_ socket: CInt, rest: inout [UInt8]) -> String? {
  while true {
    if let range = rest.firstRange(of: Array("\r\n\r\n".utf8)) {
      defer { rest = Array(rest[range.upperBound...]) }
      return String(decoding: rest[..<range.upperBound], as: UTF8.self)
    }
    guard let more = receive(socket) else { return nil }
    rest += more
  }
}

/// False if not all bytes could be sent.
@discardableResult
func sendAll(_ bytes: some Collection<UInt8>, to socket: CInt) -> Bool {
  var rest = Array(bytes)[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
    if count <= 0 { return false }
    rest = rest.dropFirst(count)
  }
  return true
}

/// Serves each connection to a port of 127.0.0.1 on a thread of its own, and ends them all when it stops.
final class ThreadedServer: Sendable {
  private struct State {
    var sockets: Set<CInt> = []
    var isStopped = false
  }

  let port: Int
  private let listener: CInt
  private let state = Mutex(State())
  private let threads = DispatchGroup()

  init() throws { (listener, port) = try listeningSocket() }

  /// Serves connections while `body` runs. `serve` returns at the end of a connection, and does not close it.
  func run(serve: @escaping @Sendable (CInt) -> Void, body: () async throws -> Void) async throws {
    thread { self.accept(serve) }
    do { try await body() } catch {
      await stop()
      throw error
    }
    await stop()
  }

  private func stop() async {
    let sockets = state.withLock { state in
      state.isStopped = true
      return state.sockets
    }
    // The threads that wait for these sockets wake up and close them.
    for socket in sockets { shutdown(socket, CInt(SHUT_RDWR)) }
    shutdown(listener, CInt(SHUT_RDWR))
    await withCheckedContinuation { done in
      threads.notify(queue: DispatchQueue(label: "server-end")) { done.resume() }
    }
    close(listener)
  }

  /// Each thread has its own queue: blocked threads of the global queue would delay every task of this process.
  func thread(_ work: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "server").async(group: threads, execute: DispatchWorkItem(block: work))
  }

  private func accept(_ serve: @escaping @Sendable (CInt) -> Void) {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      if client < 0 { return }
      // A program that is started at the same time must not inherit the socket.
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      thread {
        if self.adopt(client) { serve(client) }
        self.drop(client)
      }
    }
  }

  /// Adds a socket that the stop ends. False if the server is stopping.
  func adopt(_ socket: CInt) -> Bool {
    state.withLock { state in
      if !state.isStopped { state.sockets.insert(socket) }
      return !state.isStopped
    }
  }

  /// Closes a socket.
  func drop(_ socket: CInt) {
    state.withLock { _ = $0.sockets.remove(socket) }
    close(socket)
  }
}
