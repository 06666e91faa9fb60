import Glibc
import RosterModel
import Testing

@testable import RosterStatus

@Suite struct StatusClientTests {
  @Test("rosterctl: where no daemon answers the failure is 3")
  func noDaemon() async throws {
    try await withFolder { folder in
      let client = StatusClient(socket: folder + "/status.sock")
      let failure = await #expect(throws: Failure.self) { try await client.send("GET", "/v1/status") }
      #expect(failure?.exit == .noDaemon)

      let dead = try SocketFile(path: folder + "/status.sock", mode: 0o600)
      try dead.publish()
      let silent = await #expect(throws: Failure.self) {
        try await client.send("GET", "/v1/status", within: .milliseconds(50))
      }
      #expect(silent?.cause == "no daemon answers: nothing came within 50ms")
      close(dead.descriptor)
      let refused = await #expect(throws: Failure.self) { try await client.send("GET", "/v1/status") }
      #expect(refused?.exit == .noDaemon)
    }
  }

  @Test("rosterctl: an answer comes whole, with its status and headers")
  func answers() async throws {
    try await withServer { path, _ in
      let answer = try await StatusClient(socket: path).send("GET", "/nothing")
      #expect(answer.status == 404 && answer["content-type"] == "application/problem+json")
    }
  }

  @Test("Events: the parser reads frames in any pieces")
  func parses() {
    let text = "id: 7\nevent: page.fetched\ndata: {\"page\":1}\n\nevent: events.lost\ndata: {}\n\n"
    let expected = [
      StreamedEvent(id: "7", name: "page.fetched", data: #"{"page":1}"#),
      StreamedEvent(name: "events.lost", data: "{}"),
    ]
    for size in [1, 7, 1000] {
      var parser = EventStreamParser()
      var events: [StreamedEvent] = []
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        events += parser.feed(rest.prefix(size))
        rest = rest.dropFirst(size)
      }
      #expect(events == expected)
    }
  }
}
