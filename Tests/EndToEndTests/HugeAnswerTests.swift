import FoundationEssentials
import RosterSimulator
import RosterTestSupport
import Testing

/// Unexpectedly large answers, sent piece by piece to the real program.
@Suite(.serialized, .timeLimit(.minutes(2))) struct HugeAnswerTests {
  private static let size = 100 << 20
  private static let piece = Array(repeating: UInt8(ascii: " "), count: 1 << 16)

  @Test(
    "14, 27: an answer of 100 MB is read up to 8 MiB, retried once, and ends the sync with 65",
    arguments: ["as its head says", "in chunks", "until it ends", "in 100 KB of gzip", "as gzip without end"])
  func huge(_ how: String) async throws {
    let answer = try await Self.answer(how)
    try await withItems { site, server in
      try await site.withDaemon(["run", "--config", "\(site.folder)/rosterd.toml"]) { daemon, _ in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0, "\(daemon.complaints)")
        let before = try daemon.peakMemory()
        server.answer(answer)
        let refused = try await site.rosterctl("sync", "--wait")
        #expect(refused.exit == 65 && refused.output.contains("larger than 8 MiB"), "\(refused.output)")
        let grown = try daemon.peakMemory() - before
        #expect(grown < 48 << 20 || Sanitizer.isPresent, "it grew by \(grown)")
        // The request is retried once (max_retries). For each attempt, the sockets' buffers hold further bytes.
        #expect(server.counts.requests == 2 && server.counts.bytesSent < 2 * (8 << 20) + 2 * (16 << 20))
        #expect(try await site.rows("SELECT id FROM item") == [["1"]])
        server.answer(Self.truth)
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
      }
    }
  }

  private static let truth = StreamingServer.Answer(piece: Array(#"[{"id":1}]"#.utf8))

  private static func answer(_ how: String) async throws -> StreamingServer.Answer {
    let times = size / piece.count
    let head = "HTTP/1.1 200 OK"
    switch how {
    case "as its head says": return .init([head, "Content-Length: \(size)"], piece: piece, times: times)
    case "in chunks":
      let chunk = Array("10000\r\n".utf8) + piece + Array("\r\n".utf8)
      return .init([head, "Transfer-Encoding: chunked"], piece: chunk, times: times)
    case "until it ends": return .init([head], piece: piece, times: times)
    default:
      let packed = try await packed()
      // Consecutive gzip members are one body (RFC 1952 §2.2).
      return .init([head, "Content-Encoding: gzip"], piece: packed, times: how.hasSuffix("end") ? 1000 : 1)
    }
  }

  /// 100 MB of spaces.
  private static func packed() async throws -> [UInt8] {
    let file = FileManager.default.temporaryDirectory.appending(path: "bomb-\(UInt64.random(in: 0 ... .max))").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    let pack = "head -c \(size) /dev/zero | tr '\\0' ' ' | \(try Program.tool("gzip")) -n > \(file)"
    let outcome = try await Program.run(try Program.tool("sh"), arguments: ["-c", pack])
    try #require(outcome.exit == 0, "\(outcome.error)")
    return Array(try Data(contentsOf: URL(filePath: file)))
  }

  private func withItems(_ body: (Site, StreamingServer) async throws -> Void) async throws {
    try await withSite(Scenario(characters: [])) { site in
      try await StreamingServer.run(Self.truth) { server in
        var site = site
        site.settings["ROSTERD_UPSTREAM_BASE_URL"] = "http://127.0.0.1:\(server.port)"
        let definition = """
          [resource.item]
          path = "/items"
          pages.style = "one"
          columns.id = { at = "/id", type = "integer" }
          """
        try Data(definition.utf8).write(to: URL(filePath: "\(site.folder)/rosterd.toml"))
        try await body(site, server)
      }
    }
  }
}
