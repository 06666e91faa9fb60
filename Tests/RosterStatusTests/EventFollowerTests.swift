import Dispatch
import Glibc
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterStatus
@testable import RosterStatusClient

@Suite(.timeLimit(.minutes(1))) struct EventFollowerTests {
  private enum Happening: Sendable, Equatable {
    case opened(again: Bool)
    case silent(String)
    case event(String)
  }

  private static let quick = EventFollower.Pulse(interval: .milliseconds(60), limit: .milliseconds(40))

  /// Follows the events until `body` returns, and passes them to it.
  private func following<Result: Sendable>(
    _ path: String, policy: SilencePolicy, pulse: EventFollower.Pulse = .usual,
    body: (AsyncStream<Happening>) async throws -> Result
  ) async throws -> Result {
    let follower = EventFollower(client: StatusClient(socket: path), policy: policy, pulse: pulse)
    let (stream, happened) = AsyncStream<Happening>.makeStream()
    let following = Task {
      defer { happened.finish() }
      try await follower.follow(
        opened: { happened.yield(.opened(again: $0)) }, silent: { happened.yield(.silent($0.cause)) },
        each: { happened.yield(.event($0.name)) })
    }
    let result = try await body(stream)
    following.cancel()
    _ = await following.result
    return result
  }

  @Test("rosterctl events survives a restart of the daemon, and shows the events from before it reconnected")
  func restart() async throws {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      let policy = SilencePolicy(toldAfter: .seconds(50), givenUpAfter: .seconds(60))
      let first = makeBoard()
      let one = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes(first))
      try await one.start()
      let after = try await following(path, policy: policy) { stream in
        var seen = stream.makeAsyncIterator()
        var names = [await seen.next()]
        await one.stop()
        let second = makeBoard()
        second.report(Event(.syncStarted, sync: 2))
        let other = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes(second))
        try await other.start()
        for _ in 0..<3 { names.append(await seen.next()) }
        await other.stop()
        return names
      }
      #expect(after.prefix(2) == [.opened(again: false), .opened(again: true)])
      #expect(after.suffix(2) == [.event("events.lost"), .event("sync.started")])
    }
  }

  @Test("rosterctl events reports a daemon that accepts a connection and does not answer")
  func mute() async throws {
    try await withFolder { folder in
      let mute = try SocketFile(path: folder + "/status.sock", mode: 0o600)
      try mute.publish()
      defer { close(mute.descriptor) }
      let policy = SilencePolicy(toldAfter: .zero, givenUpAfter: nil)
      let seen = try await following(folder + "/status.sock", policy: policy, pulse: Self.quick) { stream in
        await stream.first { _ in true }
      }
      #expect(seen == .silent("it did not answer within 100ms"))
    }
  }

  @Test("rosterctl events reports a daemon that stops answering during an open stream")
  func hung() async throws {
    try await withFolder { folder in
      let hung = try SocketFile(path: folder + "/status.sock", mode: 0o600)
      try hung.publish()
      async let clients = beginStreams(hung.descriptor)
      let policy = SilencePolicy(toldAfter: .zero, givenUpAfter: nil)
      let told = try await following(folder + "/status.sock", policy: policy, pulse: Self.quick) { stream in
        await stream.first { $0 == .silent("no daemon answers: nothing came within 40ms") }
      }
      #expect(told != nil)
      // Makes accept(2) return.
      shutdown(hung.descriptor, Int32(SHUT_RDWR))
      for client in await clients { close(client) }
      close(hung.descriptor)
    }
  }

  /// Answers each request for a stream with its head, and sends no event. Returns the connections.
  private func beginStreams(_ socket: Int32) async -> [Int32] {
    await withCheckedContinuation { ended in
      // The call blocks, so it has its own thread.
      DispatchQueue(label: "accept").async {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        var clients: [Int32] = []
        var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        while poll(&ready, 1, -1) >= 0, case let client = accept(socket, nil, nil), client >= 0 {
          clients.append(client)
          var request = [UInt8](repeating: 0, count: 1024)
          let count = recv(client, &request, request.count, 0)
          guard String(decoding: request.prefix(max(0, count)), as: UTF8.self).hasPrefix("GET /v1/events") else {
            continue
          }
          _ = send(client, head, head.utf8.count, Int32(MSG_NOSIGNAL))
        }
        ended.resume(returning: clients)
      }
    }
  }

  @Test("rosterctl events asks three seconds after its stream began, not later, whether a daemon hangs")
  func heartbeat() async throws {
    let (asked, ask) = AsyncStream<Void>.makeStream()
    @Sendable func isAsked() -> Bool {
      ask.yield()
      return true
    }
    try await withServer(makeRoutes(alive: isAsked())) { path, _ in
      // The limit is longer than the test.
      let pulse = EventFollower.Pulse(interval: .milliseconds(20), limit: unhurried)
      let policy = SilencePolicy(toldAfter: .zero, givenUpAfter: nil)
      try await following(path, policy: policy, pulse: pulse) { _ in
        var asked = asked.makeAsyncIterator()
        #expect(await asked.next() != nil)
      }
    }
  }

  @Test("rosterctl events waits for a daemon at the start, and shows its earlier events")
  func early() async throws {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      let policy = SilencePolicy(toldAfter: .zero, givenUpAfter: .seconds(60))
      let seen = try await following(path, policy: policy) { stream in
        var seen = stream.makeAsyncIterator()
        let first = await seen.next()
        let board = makeBoard()
        board.report(Event(.syncStarted, sync: 1))
        let server = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes(board))
        try await server.start()
        let rest = [await seen.next(), await seen.next(), await seen.next()]
        await server.stop()
        return [first] + rest
      }
      #expect(
        seen == [
          .silent("no daemon answers: No such file or directory"), .opened(again: false), .event("events.lost"),
          .event("sync.started"),
        ])
    }
  }

  @Test("rosterctl events is 3 if no daemon answered in time")
  func absent() async throws {
    let follower = EventFollower(
      client: StatusClient(socket: "/nonexistent/status.sock"),
      policy: SilencePolicy(toldAfter: .zero, givenUpAfter: .zero))
    let failure = await #expect(throws: Failure.self) { try await follower.follow(silent: { _ in }, each: { _ in }) }
    #expect(failure?.kind == .noDaemon)
  }
}
