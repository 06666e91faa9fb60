import FoundationEssentials
import RosterCore
import Synchronization
import Testing

@testable import RosterStatus

@Suite(.timeLimit(.minutes(1))) struct StatusLongPollTests {
  /// A feed that a test writes: changes up to `last`, and the number of reads.
  private final class Feed: Sendable {
    let board = makeBoard(cache: snapshot)
    private let state = Mutex((last: Int64(0), looks: 0, size: 0))
    private let looked = AsyncStream.makeStream(of: Int.self)

    var looks: Int { state.withLock { $0.looks } }

    var routes: StatusRoutes { makeRoutes(board, feed: { self.answer($0) }) }

    func answer(_ request: FeedRequest) -> FeedAnswer {
      let (last, looks, size) = state.withLock { state in
        state.looks += 1
        return state
      }
      looked.continuation.yield(looks)
      let padding = String(repeating: " ", count: size)
      return .page(json: Array("{\"last\":\(last)}\(padding)\n".utf8), isEmpty: last <= request.since)
    }

    /// Returns after this total number of reads.
    func looked(at count: Int) async {
      if looks >= count { return }
      for await looks in looked.stream where looks >= count { return }
    }

    /// Readers see the change before the board is notified.
    func write(_ last: Int64, size: Int = 0) {
      state.withLock { ($0.last, $0.size) = (last, size) }
    }

    func publish(_ last: Int64, size: Int = 0) {
      write(last, size: size)
      var facts = snapshot
      facts.snapshot = 17 + last
      board.cache(facts)
    }
  }

  @Test("A waiting request for changes is answered with the next snapshot that has some, and only then")
  func waits() async throws {
    let feed = Feed()
    try await withServer(feed.routes) { path, _ in
      let client = try ask(path)
      let behind = try ask(path, since: 1)
      defer { behind.close() }
      await feed.looked(at: 2)
      feed.board.report(Event(.pageFetched, page: 1))
      feed.board.syncEnded(makeReport(18, outcome: .unchanged), cache: snapshot)
      feed.publish(1)
      let text = await client.read(until: "}\n")
      #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("\r\n\r\n{\"last\":1}\n"))
      // One read for each client at the beginning, and one after the publish.
      await feed.looked(at: 4)
      feed.publish(2)
      #expect(await behind.read(until: "}\n").hasSuffix("{\"last\":2}\n"))
      #expect(feed.looks == 5)
      client.close()
    }
  }

  @Test("Changes that are published during the search are not missed")
  func race() async throws {
    let feed = Feed()
    let routes = makeRoutes(
      feed.board,
      feed: { request in
        // The answer shows the previous state.
        let answer = feed.answer(request)
        if feed.looks == 1 { feed.publish(1) }
        return answer
      })
    try await withServer(routes) { path, _ in
      let client = try ask(path)
      defer { client.close() }
      #expect(await client.read(until: "}\n").hasSuffix("{\"last\":1}\n"))
    }
  }

  @Test("A waiting request without changes in time has an empty answer")
  func inVain() async throws {
    let feed = Feed()
    try await withServer(feed.routes) { path, _ in
      let client = try ask(path, wait: "1ms")
      defer { client.close() }
      let text = await client.read(until: "}\n")
      #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("{\"last\":0}\n"))
    }
  }

  @Test("45: a waiting request is not 408, also if its client shut its sending side down")
  func patient() async throws {
    let feed = Feed()
    try await withServer(feed.routes, limits: limits { $0.incomplete = .milliseconds(50) }) { path, _ in
      let (client, halfClosed) = (try ask(path), try ask(path))
      defer {
        client.close()
        halfClosed.close()
      }
      halfClosed.endInput()
      await feed.looked(at: 2)
      let slow = try RawClient(path)  // its 408 tells that the time is over for the others too
      defer { slow.close() }
      #expect(await slow.read().hasPrefix("HTTP/1.1 408 "))
      feed.publish(1)
      #expect(await client.read(until: "}\n").hasPrefix("HTTP/1.1 200 "))
      #expect(await halfClosed.read().hasPrefix("HTTP/1.1 200 "))
    }
  }

  // The test has a process of its own: another test's child process could hold open the end that is closed here.
  @Test("45: a waiting client that leaves frees its place, and no search follows for it")
  func gone() async {
    await #expect(processExitsWith: .success) {
      let feed = Feed()
      var limits = StatusLimits()
      limits.connections = 3
      try await withServer(feed.routes, limits: limits) { path, _ in
        let stays = try ask(path)
        defer { stays.close() }
        await feed.looked(at: 1)
        for round in 2...9 {
          let client = try ask(path)
          await feed.looked(at: round)
          client.close()
          // The server sees the end before later requests. If closed clients still counted, a probe would be closed to
          // make room.
          for _ in 1...2 {
            let probe = try RawClient(path)
            try probe.send(get)
            #expect(await probe.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
            probe.close()
          }
        }
        feed.publish(1)
        #expect(await stays.read(until: "}\n").hasSuffix("{\"last\":1}\n"))
        #expect(feed.looks == 10)
      }
    }
  }

  @Test("41: 200 waiting requests end at once, with an empty answer, when the server stops")
  func stops() async {
    await #expect(processExitsWith: .success) {
      let feed = Feed()
      try await withServer(feed.routes) { path, server in
        let clients = try (0..<200).map { _ in try ask(path) }
        await feed.looked(at: 200)
        let took = await ContinuousClock().measure { await server.stop() }
        #expect(took < .seconds(2))
        for client in clients {
          let text = await client.read()
          #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("Connection: close\r\n"))
          #expect(text.hasSuffix("{\"last\":0}\n"))
          client.close()
        }
        #expect(feed.looks == 200)
      }
    }
  }

  @Test("45: long answers wait for memory, and all reading clients get theirs, though others never read")
  func longAnswers() async throws {
    let feed = Feed()
    try await withServer(feed.routes) { path, _ in
      let stuck = try (0..<6).map { _ in try ask(path) }
      let clients = try (0..<30).map { _ in try ask(path, more: "Connection: close\r\n") }
      await feed.looked(at: 36)
      feed.publish(1, size: 1 << 20)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for client in clients { group.addTask { await client.read().utf8.count } }
        for try await count in group { #expect(count > 1 << 20) }
      }
      for client in stuck + clients { client.close() }
    }
  }

  @Test("An answer of changes that exceeds the limit of waiting bytes is sent whole")
  func hugeAnswer() async throws {
    let feed = Feed()
    feed.write(1, size: 20 << 20)
    try await withServer(feed.routes) { path, _ in
      let client = try ask(path)
      defer { client.close() }
      #expect(await client.read().utf8.count > 20 << 20)
    }
  }
}

private let get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

private func ask(_ path: String, since: Int64 = 0, wait: String = "60s", more: String = "") throws -> RawClient {
  let client = try RawClient(path)
  try client.send("GET /v1/changes?since=\(since)&wait=\(wait) HTTP/1.1\r\nHost: localhost\r\n\(more)\r\n")
  return client
}
