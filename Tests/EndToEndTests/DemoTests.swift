import FoundationEssentials
import Glibc
import RosterCore
import RosterTestSupport
import Testing

/// `rosterd demo`, the real program.
@Suite(.timeLimit(.minutes(1))) struct DemoTests {
  private struct Summary: Decodable {
    var cache: String
    var refreshes: Int
    var sync: SyncRecord
    var status: DaemonStatus
  }

  @Test("The demo exits with 0 after one refresh, leaves a complete cache, and nothing keeps running")
  func json() async throws {
    try await withFolder { folder in
      let start = ContinuousClock.now
      let demo = try Program(
        try Program.built("rosterd"), arguments: ["demo", "--json"], environment: ["TMPDIR": folder])
      let outcome = try await demo.end()
      #expect(outcome.exit == 0 && outcome.error.isEmpty, "\(outcome.error)")
      #expect(try #require(demo.ended) - start < .seconds(8) || Sanitizer.isPresent)
      #expect(!demo.leavesProcesses)
      let summary = try JSONDecoder().decode(Summary.self, from: Data(outcome.output.utf8))
      #expect(summary.refreshes == 1 && summary.sync.refreshes == 1 && summary.status.token.refreshes == 1)
      #expect(summary.cache.hasPrefix(folder) && summary.cache.hasSuffix(".db"))
      #expect(summary.sync.outcome == .published && summary.status.state == .idle)
      #expect(summary.status.cache.resources.map(\.name) == ["appearance", "character", "episode", "location"])
      #expect(summary.status.cache.resources.map(\.proof) == ["end", "count", "count", "count"])
      #expect(try await count(summary.cache) == "826|126|51|51\n")
    }
  }

  @Test("The demo for people shows the token's story, the status, and queries that work when copied")
  func story() async throws {
    try await withFolder { folder in
      let outcome = try await Program.run(
        try Program.built("rosterd"), arguments: ["demo"], environment: ["TMPDIR": folder])
      #expect(outcome.exit == 0 && outcome.output.contains("\nrefreshes: 1\n"))
      #expect(outcome.output.contains(" page 1 of character arrives\n"))
      #expect(outcome.output.contains("  51 pages of appearance, a list for each episode, arrive\n"))
      #expect(outcome.output.contains(/\ character +826 +42  by count\n/))
      // The test does not depend on which list gets the expired token first.
      #expect(outcome.output.contains(/page \d+ of (character|location|episode) asks for a new token, for all\n/))
      let queries = outcome.output.split(separator: "\n").filter { $0.hasPrefix("  sqlite3 ") }
      #expect(queries.count == 4)
      _ = try Program.tool("sqlite3")
      for query in queries {
        let result = try await Program.run("/bin/sh", arguments: ["-c", String(query)])
        #expect(result.exit == 0 && !result.output.isEmpty, "\(result.error)")
      }
    }
  }

  private func count(_ cache: String) async throws -> String {
    try await Program.run(
      try Program.tool("sqlite3"),
      arguments: [
        "-readonly", cache,
        """
        SELECT (SELECT count(*) FROM characters), (SELECT count(*) FROM locations), (SELECT count(*) FROM episodes),
          (SELECT count(DISTINCT episode_id) FROM appearances JOIN characters ON characters.id = appearances.id)
        """,
      ]
    ).output
  }
}
