internal import CPostgres
import Dispatch
import Glibc
import RosterCore

/// One connection to a PostgreSQL server, through libpq. Every wait ends when `stop` becomes readable. Belongs to one
/// thread.
package final class PostgresConnection {
  private let handle: OpaquePointer
  private let stop: Int32
  private var isCancelled = false
  /// The database and the server that answers, without user and password, for messages.
  package private(set) var server: String
  /// Called every few seconds while the connection waits or sends: the program is alive, however long the server takes.
  package var onProgress: () -> Void = {}
  /// Called once if a COMMIT takes longer than 5 s: a synchronous standby does not confirm it.
  package var onSlowCommit: () -> Void = {}
  /// Start of the COMMIT that waits, until it is reported.
  private var committingSince: ContinuousClock.Instant?

  /// Connects within 15 s.
  /// - Parameters:
  ///   - target: A connection URI or `key=value` words (PostgreSQL manual, "Connection Strings").
  ///   - stop: A descriptor that becomes readable when the program is to end.
  /// - Throws: `Failure` (69, 77), or `Stopped`.
  package init(_ target: PostgresTarget, stop: Int32) throws {
    guard let handle = PQconnectStart("\(Self.defaults) \(target.words)") else {
      throw Failure(.defect, step: "connect", subject: target.shown, cause: "out of memory")
    }
    (self.handle, self.stop, server) = (handle, stop, target.shown)
    // SQLSTATE tells a role that is refused from a server that is out of reach.
    PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
    try connect()
    PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
    if !target.namesHost { server = connectedServer }
    // Notices about a table that does not exist are of no interest.
    PQsetNoticeReceiver(handle, { _, _ in }, nil)
    PQsetnonblocking(handle, 1)
  }

  deinit { PQfinish(handle) }

  /// A network that drops everything is noticed within 30 s, also while the program only waits for an answer. The last
  /// occurrence of a word wins, so that the URL can set others.
  private static let defaults = """
    application_name=rosterd-postgres client_encoding=UTF8 tcp_user_timeout=30000 \
    keepalives_idle=10 keepalives_interval=5 keepalives_count=4
    """

  /// The server's version as a number, for example 150018 for 15.18.
  package var serverVersion: Int { Int(PQserverVersion(handle)) }

  /// True if the connection leaves this machine without encryption.
  package var isUnprotected: Bool {
    PQsslInUse(handle) == 0 && PQgssEncInUse(handle) == 0 && !Self.isLocal(value(PQhost), value(PQhostaddr))
  }

  private static func isLocal(_ host: String, _ address: String) -> Bool {
    host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || address == "::1" || address.hasPrefix("127.")
  }

  /// A service file or the environment may name the server.
  private var connectedServer: String {
    let (host, database) = (value(PQhost), value(PQdb))
    return host.hasPrefix("/") || host.isEmpty
      ? "\(database) on the local socket" : "\(database) on \(host):\(value(PQport))"
  }

  private func value(_ read: (OpaquePointer?) -> UnsafeMutablePointer<CChar>?) -> String {
    read(handle).map { String(cString: $0) } ?? ""
  }

  /// Becomes readable when the server sends something or ends the connection.
  package var descriptor: Int32 { PQsocket(handle) }

  /// Reads what the server has sent since the last statement.
  /// - Throws: `Failure` (69) if the connection has ended.
  package func check() throws {
    guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else { throw lost() }
  }

  /// Runs statements, separated by semicolons, and returns the rows of the last one that has any.
  @discardableResult
  package func run(_ sql: String) throws -> [[String?]] {
    guard PQsendQuery(handle, sql) == 1 else { throw lost() }
    return try results()
  }

  /// Runs one statement with texts as its parameters.
  @discardableResult
  package func run(_ sql: String, with parameters: [String?]) throws -> [[String?]] {
    let copies = parameters.map { $0.map { strdup($0) } ?? nil }
    defer { for copy in copies { free(copy) } }
    let values = copies.map { $0.map { UnsafePointer($0) } }
    guard PQsendQueryParams(handle, sql, Int32(values.count), nil, values, nil, nil, 0) == 1 else { throw lost() }
    return try results()
  }

  /// Runs COPY … FROM STDIN with the bytes that `write` hands over.
  package func copy(_ sql: String, write: (@escaping ([UInt8]) throws -> Void) throws -> Void) throws {
    guard PQsendQuery(handle, sql) == 1 else { throw lost() }
    _ = try results()
    do { try write(put) } catch {
      // The server ends the COPY with an error, which takes the transaction along.
      if PQputCopyEnd(handle, "interrupted") >= 0 { _ = try? results() }
      throw error
    }
    while true {
      switch PQputCopyEnd(handle, nil) {
      case 1:
        _ = try results()
        return
      case 0: try wait(forWriting: true)
      default: throw lost()
      }
    }
  }

  /// One transaction; an error undoes it.
  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try run("BEGIN")
    do {
      let result = try body()
      committingSince = .now
      defer { committingSince = nil }
      try run("COMMIT")
      return result
    } catch {
      if PQtransactionStatus(handle) != PQTRANS_IDLE { _ = try? run("ROLLBACK") }
      throw error
    }
  }

  // MARK: Waiting

  private func connect() throws {
    var clock = timespec()
    clock_gettime(CLOCK_MONOTONIC, &clock)
    let end = clock.tv_sec + 15
    while true {
      switch PQconnectPoll(handle) {
      case PGRES_POLLING_OK: return
      case PGRES_POLLING_FAILED: throw PostgresFailure.connecting(message, needsPassword: needsPassword, to: server)
      case PGRES_POLLING_READING: try wait(forWriting: false, milliseconds: 1_000)
      default: try wait(forWriting: true, milliseconds: 1_000)
      }
      clock_gettime(CLOCK_MONOTONIC, &clock)
      if clock.tv_sec > end { throw PostgresFailure.connecting("no answer for 15 s", needsPassword: false, to: server) }
    }
  }

  private static let usualCommit = Duration.seconds(5)

  private var needsPassword: Bool { PQconnectionNeedsPassword(handle) == 1 || PQconnectionUsedPassword(handle) == 1 }

  private func put(_ bytes: [UInt8]) throws {
    // A server that takes everything at once would never let the program wait, and so never end.
    try wait(forWriting: true, milliseconds: 0)
    while true {
      let code = bytes.withUnsafeBytes {
        PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
      }
      switch code {
      // Otherwise libpq would keep all that a slow server has not read yet.
      case 1: return try flush()
      case 0: try wait(forWriting: true)
      default:
        // An error of the server is in the result that it has sent.
        _ = try results()
        throw lost()
      }
    }
  }

  /// Reads until the server is ready for another statement, or for the data of a COPY.
  private func results() throws -> [[String?]] {
    var rows: [[String?]] = []
    var failure: PostgresFailure?
    while true {
      try flush()
      while PQisBusy(handle) == 1 {
        try wait(forWriting: false)
        guard PQconsumeInput(handle) == 1 else { throw lost() }
      }
      guard let result = PQgetResult(handle) else { break }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_TUPLES_OK: rows = Self.rows(result)
      case PGRES_COPY_IN: return []
      case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE: failure = failure ?? report(result)
      default: break
      }
    }
    if let failure { throw PQstatus(handle) == CONNECTION_BAD ? lost() : failure }
    return rows
  }

  private func report(_ result: OpaquePointer) -> PostgresFailure {
    let encoding = PQparameterStatus(handle, "server_encoding").map { String(cString: $0) }
    return PostgresFailure(result, server: server, isUTF8: encoding == "UTF8")
  }

  private func flush() throws {
    while true {
      switch PQflush(handle) {
      case 0: return
      case 1: try wait(forWriting: true)
      default: throw lost()
      }
    }
  }

  /// Waits until the server can be read from or, if wanted, written to, and returns after that time at the latest.
  private func wait(forWriting: Bool, milliseconds: Int32 = 1_000) throws {
    let events = Int16(forWriting ? POLLIN | POLLOUT : POLLIN)
    var waits = [
      pollfd(fd: PQsocket(handle), events: events, revents: 0), pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
    ]
    let ready = poll(&waits, nfds_t(waits.count), milliseconds)
    guard ready >= 0 || errno == EINTR else { throw lost() }
    onProgress()
    if let since = committingSince, .now - since >= Self.usualCommit {
      committingSince = nil
      onSlowCommit()
    }
    if waits[1].revents != 0 {
      if !isCancelled { cancel() }
      isCancelled = true
      throw Stopped()
    }
    if ready == 0, milliseconds > 0, isSilent {
      throw PostgresFailure.lost("the machine of the server does not answer", server: server)
    }
    if forWriting, waits[0].revents & Int16(POLLIN) != 0, PQstatus(handle) == CONNECTION_OK,
      PQconsumeInput(handle) != 1
    {
      throw lost()
    }
  }

  /// True if the server owes an acknowledgement, and sent nothing for nine tenths of TCP_USER_TIMEOUT. The kernel
  /// counts that time from the packet, which may follow long after the last sign of the server. The kernel of a
  /// server that is only slow acknowledges.
  private var isSilent: Bool {
    var (limit, info) = (UInt32(0), tcp_info())
    guard option(TCP_USER_TIMEOUT, &limit), option(TCP_INFO, &info), limit > 0 else { return false }
    let isOwed = info.tcpi_unacked > 0 || info.tcpi_probes > 0
    let silence = min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv)
    return info.tcpi_state == UInt8(TCP_ESTABLISHED) && isOwed && silence >= limit / 10 * 9
  }

  /// False for a Unix socket.
  private func option<Value>(_ name: Int32, _ value: inout Value) -> Bool {
    var size = socklen_t(MemoryLayout<Value>.size)
    return withUnsafeMutableBytes(of: &value) { bytes in
      getsockopt(PQsocket(handle), Int32(IPPROTO_TCP), name, bytes.baseAddress, &size) == 0
    }
  }

  /// The server rolls back what runs. PQcancel waits for the server without a limit, so that another thread calls it.
  private func cancel() {
    guard let cancel = PQgetCancel(handle) else { return }
    let address = UInt(bitPattern: cancel)
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      var text = [CChar](repeating: 0, count: 256)
      PQcancel(OpaquePointer(bitPattern: address), &text, Int32(text.count))
      PQfreeCancel(OpaquePointer(bitPattern: address))
      done.signal()
    }
    _ = done.wait(timeout: .now() + .seconds(2))
  }

  private var message: String { PQerrorMessage(handle).map { String(cString: $0) } ?? "" }

  private func lost() -> Failure { PostgresFailure.lost(message, server: server) }

  private static func rows(_ result: OpaquePointer) -> [[String?]] {
    (0..<PQntuples(result)).map { row in
      (0..<PQnfields(result)).map { column in
        PQgetisnull(result, row, column) == 1 ? nil : PQgetvalue(result, row, column).map { String(cString: $0) }
      }
    }
  }
}

/// The program is to end.
package struct Stopped: Error {
  /// Thrown by every wait.
  package init() {}
}
