import Dispatch
import FoundationEssentials
import Glibc
import RosterCore
import Testing

@testable import RosterStatus

/// The limits for all clients together and for each one.
@Suite(.timeLimit(.minutes(5))) struct StatusLimitsTests {
  private let get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

  @Test("45: a head over 16 KiB is 431", arguments: ["target", "field", "fields", "endless"])
  func longHead(kind: String) async throws {
    let long = String(repeating: "x", count: 17 * 1024)
    let head =
      switch kind {
      case "target": "GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n"
      case "field": "GET / HTTP/1.1\r\nHost: localhost\r\nx: \(long)\r\n\r\n"
      case "fields": "GET / HTTP/1.1\r\n" + String(repeating: "x: yyyyyyyyyy\r\n", count: 2000) + "\r\n"
      default: "GET /\(long)"
      }
    try await withClient { client in
      try client.send(head)
      let text = await client.read()
      #expect(text.hasPrefix("HTTP/1.1 431 "))
      #expect(text.contains("application/problem+json"))
    }
  }

  @Test("45: a head of nearly 16 KiB is answered")
  func fullHead() async throws {
    try await withClient { client in
      try client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nx: \(String(repeating: "x", count: 16_000))\r\n\r\n")
      #expect(await client.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test("45: a body over 64 KiB is 413, announced or in chunks")
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
    "45: a request that is not complete in time is 408",
    arguments: ["", "GET /hea", "POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx"])
  func slow(start: String) async throws {
    try await withClient(limits: limits { $0.incomplete = .milliseconds(50) }) { client in
      try client.send(start)
      #expect(await client.read().hasPrefix("HTTP/1.1 408 "))
    }
  }

  @Test(
    "45: a request that is not HTTP is 400, and one without Host too",
    arguments: ["nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"])
  func nonsense(text: String) async throws {
    try await withClient { client in
      try client.send(text)
      #expect(await client.read().hasPrefix("HTTP/1.1 400 "))
    }
  }

  @Test("45: if all connections are taken, the longest idle one makes room")
  func makesRoom() async throws {
    var limits = StatusLimits()
    limits.connections = 3
    limits.incomplete = unhurried
    try await withServer(limits: limits) { path, _ in
      let clients = try (0..<3).map { _ in try RawClient(path) }
      defer { for client in clients { client.close() } }
      let late = try RawClient(path)
      defer { late.close() }
      try late.send(get)
      #expect(await late.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
      #expect(await clients[0].read() == "")
      for other in [1, 2] {
        try clients[other].send(get)
        #expect(await clients[other].read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
      }
    }
  }

  @Test("45: clients that arrive while the server is busy wait for it, and none of hundreds is refused")
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

  @Test("45: idle clients never exceed the limit, however many arrive at once")
  func crowd() async throws {
    var limits = StatusLimits()
    limits.connections = 8
    limits.incomplete = unhurried
    try await withServer(limits: limits) { path, _ in
      // All clients are accepted in one turn or a few, and none is read before.
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
      // A process that another test starts inherits the server's ends until it runs: NIO accepts without SOCK_CLOEXEC.
      while clients.count(where: { $0.isOpen }) >= limits.connections { await Task.yield() }
    }
  }

  @Test(
    "45: the limit of connections leaves the sync its descriptors",
    arguments: [(1 << 20, 256), (1024, 256), (512, 256), (400, 144), (256, 8), (0, 8)])
  func descriptors(limit: Int, connections: Int) {
    #expect(StatusLimits(descriptors: limit).connections == connections)
  }

  @Test("45: without a descriptor for the next client the server waits and logs it")
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
        // A loop without a pause would retry at once and use a whole processor.
        #expect(ContinuousClock.now - began > .milliseconds(500))
        #expect(ProcessFacts.cpuSeconds() - used < 0.3)
        client.close()
      }
    }
  }

  @Test("45: a reader of events that does not read is dropped, and the others go on")
  func stuckReader() async throws {
    let board = makeBoard()
    try await withServer(makeRoutes(board)) { path, _ in
      let stuck = try RawClient(path)
      defer { stuck.close() }
      try stuck.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
      _ = await stuck.read(until: "\r\n\r\n")
      let error = String(repeating: "x", count: 2000)
      for _ in 0..<2000 { board.report(Event(.pageRetried, error: error)) }
      try await expectStatus(200, of: path)
      let text = await stuck.read()
      #expect(text.utf8.count < 2000 * 2000 && !text.hasSuffix("0\r\n\r\n"))
    }
  }
}
