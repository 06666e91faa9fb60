import Dispatch
import FoundationEssentials
import Glibc
import RosterModel
import RosterStatusClient
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterStatus

@Suite(.timeLimit(.minutes(5))) struct StatusServerTests {
  private let get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

  private func mode(_ path: String) -> UInt32? {
    var facts = stat()
    return lstat(path, &facts) == 0 ? facts.st_mode : nil
  }

  // MARK: S3

  @Test("S3: the socket has the configured mode, answers, and is gone after stop")
  func lifeOfTheSocket() async throws {
    try await withServer { path, server in
      #expect(mode(path) == UInt32(S_IFSOCK) | 0o660)
      let answer = try await status(path)
      #expect(answer == 200)
      await server.stop()
      #expect(mode(path) == nil)
    }
  }

  @Test("S3: a stale socket of a dead daemon is replaced")
  func stale() async throws {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      let dead = try SocketFile(path: path, mode: 0o600)
      try dead.publish()
      close(dead.descriptor)
      let server = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      try await server.start()
      let answer = try await status(path)
      #expect(answer == 200)
      await server.stop()
    }
  }

  @Test("S3: a live socket is left alone (73), and goes on answering")
  func live() async throws {
    try await withServer { path, _ in
      let second = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      let failure = await #expect(throws: Failure.self) { try await second.start() }
      #expect(failure?.kind == .cannotWrite && failure?.cause == "another program answers on the socket")
      let answer = try await status(path)
      #expect(answer == 200)
    }
  }

  @Test("S3: of a socket that this user may not use, nobody knows whether a program answers")
  func forbidden() {
    #expect(SocketFile.obstacle(0) == "another program answers on the socket")
    #expect(SocketFile.obstacle(EAGAIN) == "another program answers on the socket")
    #expect(SocketFile.obstacle(EACCES) == "a socket is there that this user may not use")
    #expect(SocketFile.obstacle(ECONNREFUSED) == nil)
  }

  @Test("S3: a file that is no socket is left alone (73), and nothing else stays behind")
  func noSocket() async throws {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      try Data("mine".utf8).write(to: URL(filePath: path))
      let server = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      let failure = await #expect(throws: Failure.self) { try await server.start() }
      #expect(failure?.kind == .cannotWrite)
      #expect(try String(contentsOf: URL(filePath: path), encoding: .utf8) == "mine")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["status.sock"])
    }
  }

  @Test("S3: a path that is too long for a socket is said to be (73)")
  func longPath() async throws {
    try await withFolder { folder in
      let path = folder + "/" + String(repeating: "x", count: 120) + "/s"
      let server = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      let failure = await #expect(throws: Failure.self) { try await server.start() }
      #expect(failure?.cause == "the path is too long for a socket")
    }
  }

  @Test("S3: a socket that another server published meanwhile is not taken away")
  func othersName() async throws {
    // The first server would put its own name back in the moment between.
    var limits = StatusLimits()
    limits.nameCheck = .seconds(3600)
    try await withServer(limits: limits) { path, server in
      unlink(path)
      let second = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      try await second.start()
      await server.stop()
      let answer = try await status(path)
      #expect(answer == 200)
      await second.stop()
    }
  }

  @Test("S3: a socket that somebody removes is made anew, with the mode that a reload gave it")
  func removed() async throws {
    var limits = StatusLimits()
    limits.nameCheck = .milliseconds(10)
    let (logger, lines) = makeLog()
    try await withServer(limits: limits, logger: logger) { path, server in
      #expect(server.setMode(0o600))
      for _ in 1...2 {
        unlink(path)
        #expect(await lines.first { _ in true } == "the status socket had been removed; it is there again")
        #expect(mode(path) == UInt32(S_IFSOCK) | 0o600)
        let answer = try await status(path)
        #expect(answer == 200)
      }
      await server.stop()
      #expect(mode(path) == nil)
    }
  }

  @Test("S3: what others put where the socket was is left alone")
  func replaced() async throws {
    try await withServer { path, server in
      unlink(path)
      try Data("mine".utf8).write(to: URL(filePath: path))
      await server.lookAtName()
      #expect(try String(contentsOf: URL(filePath: path), encoding: .utf8) == "mine")
    }
  }

  @Test("S3: what a process left that was killed before its socket had its name goes; another's stays")
  func leftovers() async throws {
    try await withFolder { folder in
      // No process has an id above 2^22 (proc(5), pid_max).
      let dead = folder + "/.rosterd-" + String(1 << 22 + 1, radix: 36)
      let living = folder + "/.rosterd-1"
      for path in [dead, living] { mknod(path, mode_t(S_IFSOCK) | 0o600, 0) }
      let file = dead + "0"
      try Data().write(to: URL(filePath: file))
      let server = StatusServer(at: .path(folder + "/status.sock", mode: 0o660), routes: makeRoutes())
      try await server.start()
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder).map { folder + "/" + $0 }.sorted()
          == [living, file, folder + "/status.sock"].sorted())
      await server.stop()
    }
  }

  @Test("S3: any path works that is short enough for a client, however short its name")
  func longestPath() async throws {
    try await withFolder { folder in
      let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
      let path = folder + "/" + String(repeating: "x", count: longest - folder.utf8.count - "//s".utf8.count) + "/s"
      #expect(path.utf8.count == longest)
      let server = StatusServer(at: .path(path, mode: 0o640), routes: makeRoutes())
      try await server.start()
      #expect(mode(path) == UInt32(S_IFSOCK) | 0o640)
      let answer = try await status(path)
      #expect(answer == 200)
      await server.stop()
    }
  }

  @Test("S3: a passed socket is used, and its name stays")
  func passed() async throws {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      let file = try SocketFile(path: path, mode: 0o600)
      try file.publish()
      let server = StatusServer(at: .passed(file.descriptor), routes: makeRoutes())
      try await server.start()
      let answer = try await status(path)
      #expect(answer == 200)
      await server.stop()
      #expect(mode(path) != nil)
    }
  }

  @Test("S3: a passed descriptor that does not listen is refused (73)")
  func passedOther() async throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    let server = StatusServer(at: .passed(descriptor), routes: makeRoutes())
    let failure = await #expect(throws: Failure.self) { try await server.start() }
    #expect(failure?.kind == .cannotWrite)
  }

  // MARK: HTTP

  @Test("Keep-alive: one connection answers many requests, pipelined ones in order")
  func pipelines() async throws {
    let routes = makeRoutes(history: { _ in [makeReport()] })
    try await withServer(routes) { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      let slow = "GET /v1/syncs HTTP/1.1\r\nHost: localhost\r\n\r\n"
      let last = "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
      try client.send(get + slow + get + last)
      let text = await client.read()
      let answers = text.split(separator: "HTTP/1.1 ")
      #expect(answers.map { $0.prefix(3) } == ["200", "200", "200", "404"])
      #expect(answers[1].contains(#""syncs""#))
    }
  }

  @Test("Keep-alive: thousands of pipelined requests are all answered")
  func manyPipelined() async throws {
    try await withServer { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      let count = 3000
      async let text = client.read()
      try client.send(String(repeating: get, count: count))
      client.endInput()
      let answers = await text.split(separator: "HTTP/1.1 ")
      #expect(answers.count == count && answers.allSatisfy { $0.hasPrefix("200") })
    }
  }

  @Test("A client that has shut down its side still gets its answer")
  func halfClosed() async throws {
    try await withServer { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      try client.send(get)
      client.endInput()
      #expect(await client.read().hasPrefix("HTTP/1.1 200 OK\r\n"))
    }
  }

  @Test("HEAD has the head of GET and no body")
  func head() async throws {
    try await withServer { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      try client.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      let text = await client.read()
      #expect(text.contains("Content-Length: 3\r\n"))
      #expect(text.hasSuffix("\r\n\r\n"))
    }
  }

  @Test("Status: who may ask for a sync is decided by the user on the other end")
  func peer() async throws {
    for (owner, expected) in [(getuid(), 202), (getuid() + 1, getuid() == 0 ? 202 : 403)] {
      try await withServer(makeRoutes(owner: owner)) { path, _ in
        let answer = try await status(path, "POST", "/v1/sync")
        #expect(answer == expected)
      }
    }
  }

  // MARK: S2

  @Test("S2: a head over 16 KiB is 431", arguments: ["target", "field", "fields", "endless"])
  func longHead(kind: String) async throws {
    let long = String(repeating: "x", count: 17 * 1024)
    let head =
      switch kind {
      case "target": "GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n"
      case "field": "GET / HTTP/1.1\r\nHost: localhost\r\nx: \(long)\r\n\r\n"
      case "fields": "GET / HTTP/1.1\r\n" + String(repeating: "x: yyyyyyyyyy\r\n", count: 2000) + "\r\n"
      default: "GET /\(long)"
      }
    try await withServer { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      try client.send(head)
      let text = await client.read()
      #expect(text.hasPrefix("HTTP/1.1 431 "))
      #expect(text.contains("application/problem+json"))
    }
  }

  @Test("S2: a head of nearly 16 KiB is answered")
  func fullHead() async throws {
    try await withServer { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      try client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nx: \(String(repeating: "x", count: 16_000))\r\n\r\n")
      #expect(await client.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test("S2: a body over 64 KiB is 413, announced or in chunks")
  func longBody() async throws {
    try await withServer { path, _ in
      let long = String(repeating: "x", count: 66_000)
      for head in [
        "Content-Length: 66000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n\(String(66_000, radix: 16))\r\n",
      ] {
        let client = try RawClient(path)
        defer { client.close() }
        try client.send("POST /v1/sync HTTP/1.1\r\nHost: localhost\r\n" + head + long)
        #expect(await client.read().hasPrefix("HTTP/1.1 413 Content Too Large\r\n"))
      }
    }
  }

  @Test(
    "S2: a request that is not complete in time is 408",
    arguments: ["", "GET /hea", "POST /v1/sync HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"])
  func slow(start: String) async throws {
    var limits = StatusLimits()
    limits.incomplete = .milliseconds(50)
    try await withServer(limits: limits) { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      try client.send(start)
      #expect(await client.read().hasPrefix("HTTP/1.1 408 "))
    }
  }

  @Test(
    "HTTP: a method that nobody knows is 501, another version 505, a line that is no request 400",
    arguments: [
      ("FOO /v1/status HTTP/1.1", 501), ("get /v1/status HTTP/1.1", 501), ("GET / HTTP/2.0", 505),
      ("GET / HTTP/1.9", 505), ("GET /v1/status", 400), ("FOO /v1/status", 400), ("FOO  HTTP/1.1", 400),
      ("F\u{1}O / HTTP/1.1", 400),
    ])
  func strange(line: String, status: Int) async throws {
    try await withServer { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      try client.send(line + "\r\nHost: localhost\r\n\r\n")
      #expect(await client.read().hasPrefix("HTTP/1.1 \(status) "))
    }
  }

  @Test("S2: a connection that waits between requests is not timed out")
  func idle() async throws {
    var limits = StatusLimits()
    limits.incomplete = .milliseconds(50)
    try await withServer(limits: limits) { path, _ in
      let patient = try RawClient(path)
      defer { patient.close() }
      try patient.send(get)
      _ = await patient.read(until: "ok\n")
      let slow = try RawClient(path)  // its 408 tells that the time is over for the other one too
      defer { slow.close() }
      _ = await slow.read()
      try patient.send(get)
      #expect(await patient.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test(
    "S2: what is no HTTP is 400, and a request without Host too",
    arguments: ["nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"])
  func nonsense(text: String) async throws {
    try await withServer { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      try client.send(text)
      #expect(await client.read().hasPrefix("HTTP/1.1 400 "))
    }
  }

  @Test("S2: when all connections are taken the longest idle one makes room")
  func makesRoom() async throws {
    var limits = StatusLimits()
    limits.connections = 3
    limits.incomplete = unhurried
    try await withServer(limits: limits) { path, _ in
      let clients = try (0..<3).map { _ in try RawClient(path) }
      defer { for client in clients { client.close() } }
      for client in [1, 2, 0] {
        try clients[client].send(get)
        _ = await clients[client].read(until: "ok\n")
      }
      let late = try RawClient(path)
      defer { late.close() }
      try late.send(get)
      #expect(await late.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
      #expect(await clients[1].read() == "")
      for other in [0, 2] {
        try clients[other].send(get)
        #expect(await clients[other].read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
      }
    }
  }

  @Test("S2: who comes while the server is busy waits for it; none of hundreds is turned away")
  func queue() async throws {
    let (asked, ask) = AsyncStream<Void>.makeStream()
    let busy = DispatchSemaphore(value: 0)
    @Sendable func work() -> Bool {
      ask.yield()
      busy.wait()
      return true
    }
    try await withServer(makeRoutes(alive: work())) { path, _ in
      defer { busy.signal() }
      let first = try RawClient(path)
      defer { first.close() }
      try first.send(get)
      _ = await asked.first { _ in true }
      for _ in 0..<300 { try RawClient(path, waits: false).close() }
    }
  }

  @Test("S2: clients who ask once and stay are never more than the limit, however many come at once")
  func crowd() async throws {
    var limits = StatusLimits()
    limits.connections = 8
    limits.incomplete = unhurried
    try await withServer(limits: limits) { path, _ in
      // All are accepted in one turn or a few, and none is looked at before.
      let clients = try (0..<200).map { _ in
        let client = try RawClient(path)
        try client.send(get)
        return client
      }
      defer { for client in clients { client.close() } }
      let late = try RawClient(path)
      defer { late.close() }
      try late.send(get)
      #expect(await late.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
      #expect(clients.count { $0.isOpen } < limits.connections)
    }
  }

  @Test(
    "S2: clients leave the sync its descriptors",
    arguments: [(1 << 20, 256), (1024, 256), (512, 256), (400, 144), (256, 8), (0, 8)])
  func descriptors(limit: Int, connections: Int) {
    #expect(StatusLimits(descriptors: limit).connections == connections)
  }

  @Test("S2: without a descriptor for the next client the server waits, and says so")
  func noDescriptors() async {
    await #expect(processExitsWith: .success) {
      var most = rlimit(rlim_cur: 256, rlim_max: 256)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &most)
      let (logger, lines) = makeLog()
      try await withServer(logger: logger) { path, _ in
        var fillers: [Int32] = []
        while case let filler = dup(STDERR_FILENO), filler >= 0 { fillers.append(filler) }
        close(fillers.removeLast())
        let (began, used) = (ContinuousClock.now, ProcessFacts.cpuSeconds())
        let client = try RawClient(path)
        try client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(await lines.first { _ in true }?.hasPrefix("a client of the status socket waits: ") == true)
        for filler in fillers { close(filler) }
        #expect(await client.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
        // A loop that does not wait asks again at once, and takes a whole processor.
        #expect(ContinuousClock.now - began > .milliseconds(500))
        #expect(ProcessFacts.cpuSeconds() - used < 0.3)
        client.close()
      }
    }
  }

  // MARK: Events

  @Test("Events: who has read the head of a stream misses nothing from then on")
  func fromTheHeadOn() async throws {
    let board = makeBoard()
    try await withServer(makeRoutes(board)) { path, _ in
      for _ in 0..<300 {
        let client = try RawClient(path)
        try client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        // Reading, waking this task and reporting would give the server the time that it must not need.
        let seen = client.spinUntilReadable { board.events.readers }
        #expect(seen == 1)
        client.close()
        while board.events.readers > 0 { await Task.yield() }
      }
    }
  }

  @Test("Events: they are streamed as they happen, and resumed after Last-Event-ID")
  func events() async throws {
    let board = makeBoard()
    try await withServer(makeRoutes(board)) { path, _ in
      let client = try RawClient(path)
      try client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await client.read(until: "\r\n\r\n").contains("Content-Type: text/event-stream\r\n"))
      board.report(Event(.pageFetched, sync: 1, page: 1))
      let text = await client.read(until: "\n\n")
      #expect(text.contains("event: page.fetched\n"))
      client.close()

      board.report(Event(.syncPublished, sync: 1))
      let id = try #require(text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("id: ") }).dropFirst(4)
      let resumed = Mutex<[StreamedEvent]>([])
      try await StatusClient(socket: path).follow(after: String(id)) { event in
        resumed.withLock { $0.append(event) }
        return false
      }
      #expect(resumed.withLock { $0.map(\.name) } == ["sync.published"])
    }
  }

  @Test("S2: a reader that does not read is dropped, the others and the reporter go on")
  func stuckReader() async throws {
    let board = makeBoard()
    try await withServer(makeRoutes(board)) { path, _ in
      let stuck = try RawClient(path)
      defer { stuck.close() }
      try stuck.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
      _ = await stuck.read(until: "\r\n\r\n")
      let error = String(repeating: "x", count: 2000)
      for _ in 0..<2000 { board.report(Event(.pageRetried, error: error)) }
      let answer = try await status(path)
      #expect(answer == 200)
      let text = await stuck.read()
      #expect(text.utf8.count < 2000 * 2000 && !text.hasSuffix("0\r\n\r\n"))
    }
  }

  // In processes of their own: what else the machine tests takes no time from these.
  @Test("P13: stop ends event streams properly, after the last event")
  func stops() async {
    await #expect(processExitsWith: .success) {
      let board = makeBoard()
      try await withServer(makeRoutes(board)) { path, server in
        let reader = try RawClient(path)
        let idle = try RawClient(path)
        defer {
          reader.close()
          idle.close()
        }
        try reader.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = await reader.read(until: "\r\n\r\n")
        try idle.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = await idle.read(until: "ok\n")
        board.report(Event(.daemonStopping))
        let took = await ContinuousClock().measure { await server.stop() }
        #expect(took < .seconds(5))
        let text = await reader.read()
        #expect(text.contains("event: daemon.stopping\n") && text.hasSuffix("0\r\n\r\n"))
        #expect(await idle.read() == "")
      }
    }
  }

  @Test("P13: stop waits for no answer that does not come")
  func stopsStuck() async {
    await #expect(processExitsWith: .success) {
      let asked = AsyncStream<Void>.makeStream()
      let routes = makeRoutes(history: { _ in
        asked.continuation.yield()
        try await Task.sleep(for: .seconds(3600))  // ends when the connection goes
        return []
      })
      try await withServer(routes) { path, server in
        let client = try RawClient(path)
        defer { client.close() }
        try client.send("GET /v1/syncs HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for await _ in asked.stream { break }
        let took = await ContinuousClock().measure { await server.stop() }
        #expect(took < .seconds(5))
      }
    }
  }
}
