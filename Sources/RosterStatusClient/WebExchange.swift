import Glibc

/// One connection of a browser, for one request. It reads the head, asks the daemon, and passes the answer on in
/// pieces. No call blocks; poll(2) shows when the next one is useful.
struct WebExchange {
  private enum Phase {
    /// Bytes of the head that have come.
    case head([UInt8])
    case relay
    /// All is sent; a close with unread input would take it from a client that has not read it yet (RFC 9112 §9.6).
    case linger
    case ended
  }

  /// Limit of a head, the same as on the status socket.
  private static let maxHead = 16 * 1024
  /// Bytes that are read at once, and that may wait for a client.
  private static let chunk = 64 * 1024
  private static let lingering = Duration.seconds(1)

  private let client: Int32
  private var daemon: Int32 = -1
  private var phase = Phase.head([])
  /// Bytes to be sent to the daemon.
  private var question: [UInt8] = []
  /// Bytes to be sent to the client.
  private var answer: [UInt8] = []
  /// Cookie header to be inserted after the status line.
  private var cookie: String?
  /// The client has sent all that it will, and may still read.
  private var clientEnded = false
  /// The answer has no end of its own, so that only the client can end it.
  private var isStream = false
  /// When bytes last came or left.
  private var active = ContinuousClock.now
  /// Until then the head, or the client's end, has to be there.
  private(set) var deadline: ContinuousClock.Instant?

  init(_ client: Int32, patience: Duration) {
    self.client = client
    deadline = .now + patience
  }

  var isOver: Bool { if case .ended = phase { true } else { false } }

  /// The daemon answers it.
  private var isRelayed: Bool { if case .relay = phase { true } else { false } }

  /// True if this connection, rather than the other, makes room for a new one. Connections that the daemon does not
  /// answer come first, then the longest idle ones.
  func isIdler(than other: WebExchange) -> Bool {
    isRelayed == other.isRelayed ? active < other.active : !isRelayed
  }

  /// Descriptors and events that it waits for: the client's, then the daemon's.
  var waits: [pollfd] {
    let writes = answer.isEmpty || cookie != nil ? 0 : POLLOUT
    let asks = question.isEmpty ? 0 : POLLOUT
    let reads = answer.count < Self.chunk ? POLLIN : 0
    return [
      pollfd(fd: client, events: Int16((clientEnded ? 0 : POLLIN) | writes), revents: 0),
      pollfd(fd: daemon, events: Int16(asks | reads), revents: 0),
    ]
  }

  mutating func goOn(_ clientEvents: Int16, daemonEvents: Int16, gate: inout WebGate, socket: DaemonSocket) {
    if clientEvents | daemonEvents != 0 { active = .now }
    if clientEvents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { readClient(&gate, socket: socket) }
    if daemon >= 0, daemonEvents & Int16(POLLOUT) != 0 { ask() }
    if daemon >= 0, daemonEvents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { readDaemon() }
    if !isOver { send() }
  }

  /// The time is over.
  mutating func expire() {
    if case .head = phase { return answer(.init(408, sentence: "the request was not complete in time"), method: "GET") }
    end()
  }

  /// Closes both connections at once.
  mutating func end() {
    if daemon >= 0 { close(daemon) }
    close(client)
    (daemon, phase, deadline) = (-1, .ended, nil)
  }

  private mutating func readClient(_ gate: inout WebGate, socket: DaemonSocket) {
    guard let bytes = Self.read(client, maxBytes: Self.maxHead + 1) else { return }
    if bytes.isEmpty { return endOfClient() }
    guard case .head(let before) = phase else { return }
    let head = before + bytes
    guard let end = Self.end(of: head, from: before.count) else {
      phase = .head(head)
      if head.count > Self.maxHead { answer(.init(431, sentence: Self.tooLong), method: "GET") }
      return
    }
    guard let request = try? WebRequest(head: head[..<end]) else {
      return answer(.init(400, sentence: "this is no HTTP/1.1 request (RFC 9112)"), method: "GET")
    }
    switch gate.decide(request) {
    case .answer(let own): answer(own, method: request.method)
    case .forward(let question, let cookie):
      do {
        daemon = try socket.connect()
        (self.question, self.cookie, phase, deadline) = (question.head, cookie, .relay, nil)
        isStream = question.isStream
      } catch {
        // The request has used up the token, so that the next one needs the cookie.
        let fields = cookie.map { [String($0.prefix { !$0.isNewline })] } ?? []
        answer(.init(502, sentence: "\(error)", fields: fields), method: request.method)
      }
    }
  }

  /// A client that has only shut its side down still gets its answer (RFC 9112 §9.6). One that is gone is found out
  /// when the answer is sent.
  private mutating func endOfClient() {
    guard case .relay = phase, !isStream, !clientEnded else { return end() }
    clientEnded = true
  }

  private mutating func ask() {
    let count = Glibc.send(daemon, question, question.count, Int32(MSG_NOSIGNAL))
    if count > 0 { question.removeFirst(count) }
  }

  private mutating func readDaemon() {
    guard let bytes = Self.read(daemon, maxBytes: Self.chunk) else { return }
    answer += bytes
    addCookie()
    if !bytes.isEmpty { return }
    // It has answered, or died; a client sees by the answer's end which.
    close(daemon)
    daemon = -1
    cookie = nil
  }

  private mutating func addCookie() {
    guard let field = cookie, let end = answer.firstIndex(of: UInt8(ascii: "\n")) else { return }
    answer.insert(contentsOf: field.utf8, at: end + 1)
    cookie = nil
  }

  private mutating func answer(_ own: WebAnswer, method: String) {
    answer = own.bytes(for: method)
    phase = .relay
    deadline = nil
  }

  private mutating func send() {
    if !answer.isEmpty, cookie == nil {
      let count = Glibc.send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
      if count < 0, errno != EAGAIN, errno != EINTR { return end() }
      answer.removeFirst(max(0, count))
    }
    guard case .relay = phase, answer.isEmpty, daemon < 0 else { return }
    shutdown(client, Int32(SHUT_WR))
    phase = .linger
    deadline = .now + Self.lingering
  }

  /// Received bytes, empty at the end or after an error; nil if nothing has arrived yet.
  private static func read(_ descriptor: Int32, maxBytes: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: maxBytes)
    let count = recv(descriptor, &bytes, maxBytes, 0)
    if count < 0 { return errno == EAGAIN || errno == EINTR ? nil : [] }
    return Array(bytes.prefix(count))
  }

  /// A browser sends the cookies of all programs that have used this address.
  private static let tooLong =
    "the head of the request is longer than 16 KiB; if a browser sent it, delete its cookies for 127.0.0.1"

  /// The index of the empty line that ends a head. Bytes before `start` were searched already. Line ends without CR end
  /// a head, too, which is then refused.
  private static func end(of head: [UInt8], from start: Int) -> Int? {
    let marks = [Array("\r\n\r\n".utf8), Array("\n\n".utf8)]
    return (max(0, start - 3)..<head.count).first { place in
      marks.contains { head[place...].starts(with: $0) }
    }
  }
}
