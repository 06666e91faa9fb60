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
  }

  private let server: ThreadedServer
  private let state: Mutex<State>

  private init(_ settings: Settings) throws {
    server = try ThreadedServer()
    state = Mutex(State(settings: settings))
  }

  /// Runs the proxy while `body` runs.
  package static func run(_ settings: Settings = .init(), body: (ForwardProxy) async throws -> Void) async throws {
    let proxy = try ForwardProxy(settings)
    try await proxy.server.run(serve: { proxy.serve($0) }, body: { try await body(proxy) })
  }

  /// The port on 127.0.0.1.
  package var port: Int { server.port }
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

  /// A connection to a server; its bytes are passed to the client until it ends.
  private struct Server {
    var socket: CInt
    let ended = DispatchSemaphore(value: 0)
  }

  private func serve(_ client: CInt) {
    state.withLock { $0.connections += 1 }
    var rest: [UInt8] = []
    var upstream: Server?
    while let head = receiveHead(client, rest: &rest), serve(head, rest: &rest, client: client, server: &upstream) {}
    if let upstream {
      shutdown(upstream.socket, CInt(SHUT_RDWR))
      upstream.ended.wait()
      server.drop(upstream.socket)
    }
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
    sendAll("HTTP/1.1 200 Connection established\r\n\r\n".utf8, to: client)
    sendAll(rest, to: server.socket)
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
    sendAll(lines.joined(separator: "\r\n").utf8, to: client)
  }

  /// Answers 502 if no server listens.
  private func connect(to authority: Substring, _ settings: Settings, answeringTo client: CInt) -> Server? {
    let port = authority.split(separator: ":").last.flatMap { Int($0) }
    let (socket, isConnected) = connectingSocket(to: settings.target ?? port ?? 80)
    guard isConnected, self.server.adopt(socket) else {
      close(socket)
      answer(client, status: 502)
      return nil
    }
    let server = Server(socket: socket)
    self.server.thread {
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
    sendAll("\(words[0]) \(target) HTTP/1.1\r\n\(lines.joined(separator: "\r\n"))\r\n\r\n".utf8, to: server)
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }.flatMap {
      Int($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " })
    }
    while rest.count < length ?? 0, let more = receive(client) { rest += more }
    sendAll(Array(rest.prefix(length ?? 0)), to: server)
    rest = Array(rest.dropFirst(length ?? 0))
  }

  private func pump(_ source: CInt, target: CInt) {
    while let bytes = receive(source) { sendAll(bytes, to: target) }
    shutdown(target, CInt(SHUT_WR))
  }
}
