import Glibc
package import RosterCore

/// The page and the reading routes of a status socket on 127.0.0.1, for browsers with the token. Its only thread sleeps
/// in poll(2) while nothing happens.
package struct WebServer {
  /// Connections at once; the longest idle one makes room for another.
  private let maxConnections: Int
  /// Few enough that each new connection is read from before others can put it out.
  private static let acceptsPerTurn = 32
  /// Time for a complete head, the same as on the status socket.
  private static let patience = Duration.seconds(10)

  private let listener: Int32
  private let socket: DaemonSocket
  private var gate: WebGate
  private var exchanges: [WebExchange] = []

  /// Listens from now on; connections are taken up by `run`. Throws `Failure`: 3 and 77 where the daemon cannot be
  /// reached, 73 where the port cannot be had.
  /// - Parameter port: 0 means a free port.
  package init(port: UInt16, socket: DaemonSocket) throws(Failure) {
    // An error now reaches the user. Later the daemon may restart.
    close(try socket.connect())
    self.socket = socket
    maxConnections = Self.maxConnections()
    (listener, gate) = try Self.listen(port)
  }

  /// Each connection waits for the browser and for the daemon, and poll(2) refuses more than RLIMIT_NOFILE.
  private static func maxConnections() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 16 }
    let spare = 16
    return max(1, min(128, (Int(clamping: limit.rlim_cur) - spare) / 2))
  }

  /// Opens the page once; another one then takes its place.
  package var address: String { gate.address(gate.token) }

  /// Opens it once.
  package mutating func ticketAddress() -> String { gate.address(gate.issueTicket()) }

  /// Serves until the process ends. Throws `Failure` (70) where the kernel refuses to wait.
  /// - Parameters:
  ///   - renewed: is called with the next address when one has been used.
  ///   - ticketUsed: is called when the address of the ticket has been used.
  package mutating func run(renewed: (String) -> Void, ticketUsed: () -> Void) throws(Failure) -> Never {
    while true {
      let (known, hadTicket) = (address, gate.ticket != nil)
      try turn()
      if address != known { renewed(address) }
      if hadTicket, gate.ticket == nil { ticketUsed() }
    }
  }

  private mutating func turn() throws(Failure) {
    // An exchange has two of these, then comes who wants one.
    var waits = exchanges.flatMap(\.waits)
    waits.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
    guard poll(&waits, nfds_t(waits.count), timeout) >= 0 || errno == EINTR else {
      throw Failure(.defect, step: "wait for browsers", subject: address, cause: SystemError.last.text)
    }
    let now = ContinuousClock.now
    for index in exchanges.indices {
      let (client, daemon) = (waits[2 * index].revents, waits[2 * index + 1].revents)
      exchanges[index].goOn(client, daemonEvents: daemon, gate: &gate, socket: socket)
      if let deadline = exchanges[index].deadline, deadline <= now { exchanges[index].expire() }
    }
    exchanges.removeAll(where: \.isOver)
    if waits[waits.count - 1].revents != 0 { accept() }
  }

  private mutating func accept() {
    for _ in 0..<Self.acceptsPerTurn {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { return }
      _ = fcntl(client, F_SETFL, O_NONBLOCK)
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      makeRoom()
      exchanges.append(WebExchange(client, patience: Self.patience))
    }
  }

  /// Any local user may connect, and need not send a request.
  private mutating func makeRoom() {
    guard exchanges.count >= maxConnections,
      let idle = exchanges.indices.min(by: { exchanges[$0].isIdler(than: exchanges[$1]) })
    else { return }
    exchanges[idle].end()
    exchanges.remove(at: idle)
  }

  /// Milliseconds until the next deadline; -1 without one.
  private var timeout: Int32 {
    guard let next = exchanges.compactMap(\.deadline).min() else { return -1 }
    let left = ContinuousClock.now.duration(to: next)
    return max(0, Int32(left / .milliseconds(1)) + 1)
  }

  private static func listen(_ port: UInt16) throws(Failure) -> (Int32, WebGate) {
    do throws(SystemError) {
      let listener = try LoopbackListener(port: port, isBlocking: false)
      return (listener.descriptor, WebGate(port: listener.port))
    } catch {
      throw Failure(
        .cannotWrite, step: "offer the page", subject: "127.0.0.1:\(port)", cause: error.text,
        hint: "name another --port, or none to have a free one")
    }
  }
}

extension String {
  /// 128 bits from the kernel (getrandom(2)), as hexadecimal digits.
  static func secret() -> String {
    (0..<16).map { _ in UInt8.random(in: 0...255).hex }.joined()
  }
}
