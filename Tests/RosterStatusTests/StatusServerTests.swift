import FoundationEssentials
import Glibc
import RosterCore
import RosterStatusClient
import Synchronization
import Testing

@testable import RosterStatus

@Suite(.timeLimit(.minutes(5))) struct StatusServerTests {
  private let get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

  @Test("46: every answer, the event stream too, has the headers against other sites")
  func seclusion() async throws {
    try await withServer { path, _ in
      for target in ["/v1/status", "/metrics", "/v1/events", "/", "/page.js", "/nothing", "/v1/syncs?limit=0"] {
        let client = try RawClient(path)
        defer { client.close() }
        try client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let head = await client.read(until: "\r\n\r\n").lowercased()
        for field in [
          "x-content-type-options: nosniff", "cross-origin-resource-policy: same-origin",
          "referrer-policy: no-referrer", "cross-origin-opener-policy: same-origin", "frame-ancestors 'none'",
        ] {
          #expect(head.components(separatedBy: field).count == 2, "\(target): \(field)")
        }
      }
    }
  }

  @Test("A connection has one request: the answer closes it, and requests that were sent ahead have none")
  func oneRequest() async throws {
    let routes = makeRoutes(history: { _ in [makeReport()] })
    try await withClient(routes) { client in
      let slow = "GET /v1/syncs HTTP/1.1\r\nHost: localhost\r\n\r\n"
      try client.send(slow + get + get)
      let text = await client.read()
      #expect(text.split(separator: "HTTP/1.1 ").map { $0.prefix(3) } == ["200"])
      #expect(text.contains("Connection: close\r\n") && text.contains(#""syncs""#))
    }
  }

  @Test("45: an upgrade is ignored, and the request answered")
  func upgrade() async throws {
    try await withClient { client in
      try client.send(
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
          + String(repeating: "x", count: 9000))
      let text = await client.read()
      #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("Connection: close\r\n") && text.hasSuffix("ok\n"))
    }
  }

  @Test("A client that has shut down its sending side still gets its answer")
  func halfClosed() async throws {
    try await withClient { client in
      try client.send(get)
      client.endInput()
      #expect(await client.read().hasPrefix("HTTP/1.1 200 OK\r\n"))
    }
  }

  @Test("HEAD has the head of GET and no body")
  func head() async throws {
    try await withClient { client in
      try client.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      let text = await client.read()
      #expect(text.contains("Content-Length: 3\r\n"))
      #expect(text.hasSuffix("\r\n\r\n"))
    }
  }

  @Test("The user at the other end of the socket decides whether a sync may be requested")
  func peer() async throws {
    for (owner, expected) in [(getuid(), 202), (getuid() + 1, getuid() == 0 ? 202 : 403)] {
      try await withServer(makeRoutes(owner: owner)) { path, _ in
        try await expectStatus(expected, of: path, method: "POST", target: "/v1/sync")
      }
    }
  }

  // MARK: Events

  @Test("A client that has read the head of an event stream misses no event from then on")
  func fromTheHeadOn() async throws {
    let board = makeBoard()
    try await withServer(makeRoutes(board)) { path, _ in
      for _ in 0..<300 {
        let client = try RawClient(path)
        try client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        // Reading, resuming this task and reporting would give the server time that it must not need.
        let seen = client.spinUntilReadable { board.events.readers }
        #expect(seen == 1)
        client.close()
        while board.events.readers > 0 { await Task.yield() }
      }
    }
  }

  @Test("White space after a header's value is not part of it (RFC 9110 §5.5)")
  func space() async throws {
    try await withServer(makeRoutes(owner: getuid())) { path, _ in
      let client = try RawClient(path)
      try client.send(
        "POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue \r\nContent-Length: 2 \r\n\r\n")
      #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
      try client.send("{}")
      #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 202 "))
      client.close()
    }
  }

  @Test("White space after a Last-Event-ID is not part of it")
  func spaceBehindID() async throws {
    let board = makeBoard()
    try await withServer(makeRoutes(board)) { path, _ in
      func read(_ field: String, event: Event) async throws -> String {
        let client = try RawClient(path)
        defer { client.close() }
        try client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n")
        let head = await client.read(until: "\r\n\r\n")
        board.report(event)
        return head + (await client.read(until: "\n\n"))
      }
      let first = try await read("", event: Event(.pageFetched, sync: 1, page: 1))
      let id = try #require(first.split(whereSeparator: \.isNewline).first { $0.hasPrefix("id: ") }).dropFirst(4)
      let second = try await read("Last-Event-ID: \(id) \r\n", event: Event(.syncPublished, sync: 1))
      #expect(second.contains("event: sync.published\n") && !second.contains("page.fetched"))
    }
  }

  @Test("Events are streamed as they happen, and resumed after Last-Event-ID")
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

  // The tests have processes of their own, so that parallel tests do not delay them.
  @Test("41: a stop ends event streams properly, after the last event")
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

  @Test("41: a stop does not wait for an answer that does not come")
  func stopsStuck() async {
    await #expect(processExitsWith: .success) {
      let asked = AsyncStream<Void>.makeStream()
      let routes = makeRoutes(history: { _ in
        asked.continuation.yield()
        for await _ in AsyncStream<Never>.makeStream().stream {}  // ends when the connection goes
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
