import RosterModel
import Testing

@testable import RosterStatus

@Suite struct PipelineGateTests {
  private let get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

  @Test("S2.4: half a request after a whole one is timed out too; blank lines are no request")
  func halfBehindWhole() async throws {
    try await withServer(limits: limits { $0.incomplete = .milliseconds(500) }) { path, _ in
      let patient = try RawClient(path)
      defer { patient.close() }
      try patient.send(get + "\r\n\n")
      _ = await patient.read(until: "ok\n")
      let half = try RawClient(path)
      defer { half.close() }
      try half.send(get + "GET /hea")
      let text = await half.read()
      #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("HTTP/1.1 408 "))
      try patient.send(get)
      #expect(await patient.read(until: "ok\n").hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test(
    "Requests are separated at their ends, with bodies and chunks between, in one piece or in bytes",
    arguments: [1, 7, 100_000])
  func parts(size: Int) async throws {
    let body = "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nGET /\r\n\r\n"
    let chunks =
      "POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\nX: y\r\n\r\n"
    try await withClient { client in
      var rest = Substring(get + body + get + "\r\n" + chunks + chunks + get)
      async let text = client.read()
      while !rest.isEmpty {
        try client.send(String(rest.prefix(size)))
        rest = rest.dropFirst(size)
      }
      client.endInput()
      let codes = await text.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
      #expect(codes == ["200", "404", "200", "404", "404", "200"])
    }
  }

  @Test("S2.1: requests that are sent ahead are answered when the client reads, and delay no other client")
  func ahead() async throws {
    try await withServer { path, _ in
      let client = try RawClient(path)
      defer { client.close() }
      let count = 2000
      try client.send(String(repeating: get, count: count / 2))
      try await expectStatus(200, of: path)
      async let text = client.read()
      try client.send(String(repeating: get, count: count / 2))
      client.endInput()
      #expect(await text.split(separator: "HTTP/1.1 200 ").count == count)
    }
  }

  @Test("S2.1: an upgrade is ignored, the request answered, and the connection closed")
  func upgrade() async throws {
    try await withClient { client in
      try client.send(
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
          + String(repeating: "x", count: 9000))
      let text = await client.read()
      #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("Connection: close\r\n") && text.hasSuffix("ok\n"))
    }
  }
}
