import Dispatch
import FoundationEssentials
import Glibc
import Logging
import RosterCore
import RosterStatusClient
import RosterTestSupport
import Testing

@testable import RosterStatus

/// A board in the state after a daemon's start.
func makeBoard(
  clock: ManualClock = ManualClock(), flow: String = "oauth2_refresh", cache: CacheFacts = CacheFacts(),
  last: SyncRecord? = nil, limits: @escaping @Sendable () -> StatusBoard.Limits = { .init() }
) -> StatusBoard {
  StatusBoard(
    version: "0.1.0", pid: 4711, startedAt: clock.now, baseURL: "http://localhost/api", cachePath: "/cache/roster.db",
    config: DaemonStatus.Config(path: nil, loadedAt: clock.now.rfc3339), flow: flow, clock: clock.wallClock,
    cache: cache, last: last, sizes: { FileSizes(database: 4096, wal: 32) }, limits: limits)
}

func makeRoutes(
  _ board: StatusBoard = makeBoard(), owner: UInt32 = 1000,
  alive: @autoclosure @escaping @Sendable () -> Bool = true,
  history: @escaping @Sendable (SyncsRequest) async throws -> [SyncRecord] = { _ in [] },
  sync: @escaping @Sendable (SyncRequest) async throws -> SyncRequest.Accepted = { _ in
    SyncRequest.Accepted(sync: 1, joined: false)
  },
  feed: @escaping @Sendable (FeedRequest) async throws -> FeedAnswer = { _ in
    .page(json: Array("{}".utf8), isEmpty: true)
  },
  cancel: @escaping @Sendable () async -> Int64? = { nil },
  rejected: @escaping @Sendable () async throws -> [AffectedItem] = { [] }
) -> StatusRoutes {
  StatusRoutes(
    board: board, owner: owner, alive: alive, history: history, sync: sync, feed: feed, cancel: cancel,
    rejected: rejected)
}

func makeReport(_ id: Int64 = 17, outcome: SyncRecord.Outcome = .published) -> SyncRecord {
  var report = SyncRecord(id: id, startedAt: "2023-11-14T22:13:19.000Z", outcome: outcome)
  report.finishedAt = "2023-11-14T22:13:19.400Z"
  report.pages = 42
  report.records = 826
  report.exit = outcome == .failed ? 69 : 0
  if outcome == .failed { report.error = "cannot pull page 3 (http://localhost): upstream answered 500" }
  return report
}

let snapshot = CacheFacts(
  snapshot: 17, publishedAt: "2023-11-14T22:13:19.400Z", verifiedAt: "2023-11-14T22:13:19.400Z", records: 826,
  pages: 42,
  resources: [.init(name: "character", table: "characters", records: 826, pages: 42, proof: "count", absent: 0)])

/// A sync that has pulled some of its pages.
func tally(pages: Int, of total: Int, records: Int = 0) -> Tally {
  let tally = Tally(resources: ["character"])
  tally.update { counts in
    for page in 1...pages { counts.done("character", records: page == 1 ? records : 0, pages: total) }
  }
  return tally
}

/// The messages of a logger, as they arrive.
func makeLog() -> (logger: Logger, lines: AsyncStream<String>) {
  let (lines, came) = AsyncStream<String>.makeStream()
  return (Logger(label: "test") { _ in LineHandler { came.yield($0) } }, lines)
}

private struct LineHandler: LogHandler {
  let write: @Sendable (String) -> Void
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { write("\(event.message)") }

  init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }
}

/// Runs a server on a socket in a folder of its own.
func withServer<Result>(
  _ routes: StatusRoutes = makeRoutes(), limits: StatusLimits = StatusLimits(), logger: Logger = makeLog().logger,
  body: (String, StatusServer) async throws -> Result
) async throws -> Result {
  try await withFolder { folder in
    let path = folder + "/status.sock"
    let server = StatusServer(at: .path(path, mode: 0o660), routes: routes, limits: limits, logger: logger)
    try await server.start()
    do {
      let result = try await body(path, server)
      await server.stop()
      return result
    } catch {
      await server.stop()
      throw error
    }
  }
}

/// Connects a client to a server on a socket in a folder of its own.
func withClient(
  _ routes: StatusRoutes = makeRoutes(), limits: StatusLimits = StatusLimits(), body: (RawClient) async throws -> Void
) async throws {
  try await withServer(routes, limits: limits) { path, _ in
    let client = try RawClient(path)
    defer { client.close() }
    try await body(client)
  }
}

func limits(_ change: (inout StatusLimits) -> Void) -> StatusLimits {
  var limits = StatusLimits()
  change(&limits)
  return limits
}

/// A timeout that never expires, even on a loaded machine.
let unhurried = Duration.seconds(600)

/// The status of an answer over the socket.
func status(_ path: String, method: String = "GET", target: String = "/healthz") async throws -> Int {
  try await StatusClient(socket: path).send(method, target: target, within: unhurried).status
}

func expectStatus(
  _ expected: Int, of path: String, method: String = "GET", target: String = "/healthz",
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let found = try await status(path, method: method, target: target)
  #expect(found == expected, sourceLocation: sourceLocation)
}

struct TestError: Error {
  var what: String
}

/// A client that sends arbitrary bytes, valid or not. Its reads block, so it has its own queue: blocked threads of the
/// global queue would delay every task.
struct RawClient: Sendable {
  let descriptor: Int32

  /// - Parameter waits: true to wait for a place in the server's queue.
  init(_ path: String, waits: Bool = true) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | (waits ? 0 : SOCK_NONBLOCK.rawValue)), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) }
    }
    if result != 0 { throw TestError(what: "connect: \(errno)") }
  }

  func send(_ text: String) throws {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { throw TestError(what: "send: \(errno)") }
      sent += count
    }
  }

  /// True if the server has not closed the connection; received bytes are dropped.
  var isOpen: Bool {
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
      if count <= 0 { return count < 0 && errno == EAGAIN }
    }
  }

  /// Polls without sleeping until bytes have arrived, and then evaluates `look` at once.
  func spinUntilReadable<Value>(_ look: () -> Value) -> Value {
    var ask = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&ask, 1, 0) == 0 {}
    return look()
  }

  func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

  func close() { Glibc.close(descriptor) }

  /// The received text until it contains `mark`, or until the end.
  func read(until mark: String? = nil) async -> String {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "recv").async { continuation.resume(returning: blockingRead(until: mark)) }
    }
  }

  private func blockingRead(until mark: String?) -> String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count <= 0 { break }
      bytes += chunk[..<count]
      if let mark, String(decoding: bytes, as: UTF8.self).contains(mark) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
