import Dispatch
import Glibc
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterStatus
@testable import RosterStatusClient

@Suite struct StatusClientTests {
  @Test("rosterctl: without a daemon of a named unit the failure names how to start it")
  func namedUnit() {
    let failure = #expect(throws: Failure.self) {
      try DaemonSocket("/nowhere/status.sock", unit: "rosterd@stage").connect()
    }
    #expect(failure?.kind == .noDaemon && failure?.hint == "start it with systemctl start rosterd@stage")
  }

  @Test("rosterctl fails with 3 if no daemon answers")
  func noDaemon() async throws {
    try await withFolder { folder in
      let client = StatusClient(socket: folder + "/status.sock")
      let failure = await #expect(throws: Failure.self) { try await client.send("GET", target: "/v1/status") }
      #expect(failure?.kind == .noDaemon)

      let dead = try SocketFile(path: folder + "/status.sock", mode: 0o600)
      try dead.publish()
      let silent = await #expect(throws: Failure.self) {
        try await client.send("GET", target: "/v1/status", within: .milliseconds(50))
      }
      #expect(silent?.cause == "no daemon answers: nothing came within 50ms")
      close(dead.descriptor)
      let refused = await #expect(throws: Failure.self) { try await client.send("GET", target: "/v1/status") }
      #expect(refused?.kind == .noDaemon)
    }
  }

  @Test("rosterctl gets a whole answer, with its status and headers")
  func answers() async throws {
    try await withServer { path, _ in
      let answer = try await StatusClient(socket: path).send("GET", target: "/nothing", within: unhurried)
      #expect(answer.status == 404 && answer["content-type"] == "application/problem+json")
    }
  }

  /// A server that sends this to its first client and closes the connection.
  private func follow(_ answer: String) async throws -> [StreamedEvent] {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      let socket = try SocketFile(path: path, mode: 0o600)
      try socket.publish()
      async let served: Void = withCheckedContinuation { served in
        DispatchQueue(label: "accept").async {
          var readable = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
          poll(&readable, 1, -1)
          let client = accept(socket.descriptor, nil, nil)
          var request = [UInt8](repeating: 0, count: 1024)
          _ = recv(client, &request, request.count, 0)
          _ = send(client, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
          close(client)
          served.resume()
        }
      }
      defer { close(socket.descriptor) }
      var events: [StreamedEvent] = []
      do {
        try await StatusClient(socket: path).follow(each: {
          events.append($0)
          return true
        })
      } catch {
        await served
        throw error
      }
      await served
      return events
    }
  }

  @Test("The stream of rosterctl events ends if the daemon is killed; an answer without a stream is not a daemon's")
  func killed() async throws {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let seen = try await follow(head + "18\r\nevent: x\ndata: {}\n\nevent\r\n1F\r\nevent")
    #expect(seen == [StreamedEvent(name: "x", data: "{}")])
    let other = await #expect(throws: Failure.self) {
      try await follow("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    }
    #expect(other?.cause == "no daemon answers: another program answers (404 to /v1/events)")
    let cut = await #expect(throws: Failure.self) { try await follow("HTTP/1.1 200 OK\r\nContent-") }
    #expect(cut?.cause == "no daemon answers: the connection ended before the answer did")
  }
}
