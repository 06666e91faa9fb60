import Dispatch
import Glibc
import Synchronization

/// An HTTP proxy on loopback (RFC 9110 §9.3.6, RFC 9112 §3.2.2) that records its requests. It connects to 127.0.0.1 for
/// every host, so names need not exist.
package final class ForwardProxy: Sendable {
  /// The behaviour for later requests.
  package struct Settings: Sendable {
    /// "user:password" in base64. Requests without it are answered 407; nil to accept all.
    package var credentials: String?
    /// The status of every answer; nil to do as requested.
    package var refusal: Int?
    /// The headers of such an answer.
    package var refusalHeaders: [String] = []
    /// True to send no answer.
    package var isSilent = false
    /// The port for all connections; nil for the requested port.
    package var target: Int?

    /// A proxy for all users.
    package init() {}
  }

  private struct State {
    var settings: Settings
    var heads: [String] = []
    var connections = 0
    var sockets: Set<CInt> = []
    var isStopped = false
  }

  /// The port on 127.0.0.1.
  package let port: Int
  private let listener: CInt
  private let state: Mutex<State>
  private let threads = DispatchGroup()

  private init(_ settings: Settings) throws {
    (listener, port) = try listeningSocket()
    state = Mutex(State(settings: settings))
  }

  /// Runs the proxy while `body` runs.
  package static func run(_ settings: Settings = .init(), body: (ForwardProxy) async throws -> Void) async throws {
    let proxy = try ForwardProxy(settings)
    proxy.thread("accept") { proxy.accept() }
    do { try await body(proxy) } catch {
      await proxy.stop()
      throw error
    }
    await proxy.stop()
  }

  /// "http://127.0.0.1:PORT".
  package var url: String { "http://127.0.0.1:\(port)" }
  /// The heads of all requests, in the order of arrival.
  package var heads: [String] { state.withLock { $0.heads } }
  /// Method and target of each request.
  package var requests: [String] {
    heads.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
  }
  /// Number of connections accepted since the start.
  package var connections: Int { state.withLock { $0.connections } }

  /// Changes the behaviour.
  package func configure(_ change: @Sendable (inout Settings) -> Void) { state.withLock { change(&$0.settings) } }

  private func stop() async {
    let sockets = state.withLock { state in
      state.isStopped = true
      return state.sockets
    }
    // The threads that wait on these sockets wake up and close them.
    for socket in sockets { shutdown(socket, CInt(SHUT_RDWR)) }
    shutdown(listener, CInt(SHUT_RDWR))
    await withCheckedContinuation { done in
      threads.notify(queue: DispatchQueue(label: "proxy-end")) { done.resume() }
    }
    close(listener)
  }

  /// Each thread has its own queue: blocked threads of the global queue would delay every task of this process.
  private func thread(_ name: String, work: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "proxy-\(name)").async(group: threads, execute: DispatchWorkItem(block: work))
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      if client < 0 { return }
      // A program that is started at the same time must not inherit the socket.
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      state.withLock { $0.connections += 1 }
      thread("client") { self.serve(client) }
    }
  }

  /// False if the proxy is stopping.
  private func adopt(_ socket: CInt) -> Bool {
    state.withLock { state in
      if !state.isStopped { state.sockets.insert(socket) }
      return !state.isStopped
    }
  }

  private func drop(_ socket: CInt) {
    state.withLock { _ = $0.sockets.remove(socket) }
    close(socket)
  }

  /// A connection to a server; its bytes are passed to the client until it ends.
  private struct Server {
    var socket: CInt
    let ended = DispatchSemaphore(value: 0)
  }

  private func serve(_ client: CInt) {
    guard adopt(client) else { return drop(client) }
    var rest: [UInt8] = []
    var server: Server?
    while let head = readHead(client, rest: &rest), serve(head, rest: &rest, client: client, server: &server) {}
    if let server {
      shutdown(server.socket, CInt(SHUT_RDWR))
      server.ended.wait()
      drop(server.socket)
    }
    drop(client)
  }

  /// Returns true if another request may follow.
  private func serve(_ head: String, rest: inout [UInt8], client: CInt, server: inout Server?) -> Bool {
    let settings = state.withLock { state in
      state.heads.append(head)
      return state.settings
    }
    if settings.isSilent { return true }
    if let refusal = refusal(of: head, settings) {
      answer(client, status: refusal, headers: settings.refusalHeaders)
      return false
    }
    let words = head.split(separator: " ", maxSplits: 2).map(String.init)
    let isTunnel = words[0] == "CONNECT"
    let address = isTunnel ? words[1][...] : words[1].dropFirst("http://".count)
    let authority = address.prefix { $0 != "/" && $0 != "?" }
    server = server ?? connect(to: authority, settings, answeringTo: client)
    guard let server else { return false }
    guard isTunnel else {
      forward(
        head, words: words, path: String(address[authority.endIndex...]), rest: &rest, client: client,
        server: server.socket)
      return true
    }
    write(client, bytes: Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
    write(server.socket, bytes: rest)
    pump(client, target: server.socket)
    return false
  }

  private func refusal(of head: String, _ settings: Settings) -> Int? {
    if let credentials = settings.credentials,
      !head.lowercased().contains("proxy-authorization: basic \(credentials)".lowercased())
    {
      return 407
    }
    return settings.refusal
  }

  private func answer(_ client: CInt, status: Int, headers: [String] = []) {
    let challenge = status == 407 ? ["Proxy-Authenticate: Basic realm=\"proxy\""] : []
    let lines = ["HTTP/1.1 \(status) Refused"] + challenge + headers + ["Content-Length: 0", "", ""]
    write(client, bytes: Array(lines.joined(separator: "\r\n").utf8))
  }

  /// Answers 502 if no server listens.
  private func connect(to authority: Substring, _ settings: Settings, answeringTo client: CInt) -> Server? {
    let port = authority.split(separator: ":").last.flatMap { Int($0) }
    let server = Server(socket: socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var address = loopback(settings.target ?? port ?? 80)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(server.socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0, adopt(server.socket) else {
      close(server.socket)
      answer(client, status: 502)
      return nil
    }
    thread("server") {
      self.pump(server.socket, target: client)
      server.ended.signal()
    }
    return server
  }

  private func forward(
    _ head: String, words: [String], path: String, rest: inout [UInt8], client: CInt, server: CInt
  ) {
    let lines = head.split(separator: "\r\n").dropFirst().filter { !$0.lowercased().hasPrefix("proxy-") }
    let target = path.hasPrefix("/") ? path : "/\(path)"
    write(server, bytes: Array("\(words[0]) \(target) HTTP/1.1\r\n\(lines.joined(separator: "\r\n"))\r\n\r\n".utf8))
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }.flatMap {
      Int($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " })
    }
    while rest.count < length ?? 0, let more = read(client) { rest += more }
    write(server, bytes: Array(rest.prefix(length ?? 0)))
    rest = Array(rest.dropFirst(length ?? 0))
  }

  // MARK: Bytes

  private func readHead(_ socket: CInt, rest: inout [UInt8]) -> String? {
    let end = Array("\r\n\r\n".utf8)
    while true {
      if let range = rest.firstRange(of: end) {
        let head = String(decoding: rest[..<range.upperBound], as: UTF8.self)
        rest = Array(rest[range.upperBound...])
        return head
      }
      guard let more = read(socket) else { return nil }
      rest += more
    }
  }

  private func read(_ socket: CInt) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 65536)
    let count = recv(socket, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes[..<count]) : nil
  }

  private func write(_ socket: CInt, bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  private func pump(_ source: CInt, target: CInt) {
    while let bytes = read(source) { write(target, bytes: bytes) }
    shutdown(target, CInt(SHUT_WR))
  }
}
