import FoundationEssentials
import Glibc
import RosterSimulator
import Testing

@Suite(.serialized, .timeLimit(.minutes(1))) struct JSONLogTests {
  /// A log line as documented; decoding fails for numbers that are sent as text.
  private struct Line: Decodable {
    var time: String
    var level: String
    var message: String
    var sync: Int?
    var page: Int?
    var status: Int?
    var attempt: Int?
  }

  private func lines(_ text: String) throws -> [Line] {
    try text.split(separator: "\n").map { line in
      do { return try JSONDecoder().decode(Line.self, from: Data(line.utf8)) } catch {
        Issue.record("no documented line: \(line)")
        throw error
      }
    }
  }

  private let settings = ["ROSTERD_LOG_FORMAT": "json", "ROSTERD_LOG_LEVEL": "trace", "ROSTERD_NONSENSE": "1"]

  @Test("48: every log line of a daemon is JSON, numbers as numbers, including the warnings of its start")
  func life() async throws {
    try await withSite(.pages(3, rules: [.on(.page(2), times: 1, .status(503))]), settings: settings) { site in
      try await site.withDaemon { daemon, _ in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        daemon.signal(SIGTERM)
        let lines = try lines(try await daemon.end().error)
        #expect(lines.contains { $0.message.contains("ROSTERD_NONSENSE") })
        #expect(lines.contains { $0.sync == 1 && $0.page == 2 && $0.status == 503 })
        #expect(lines.contains { $0.sync == 1 && $0.page == 2 && $0.attempt != nil })
      }
    }
  }

  @Test("48: the message of a program that cannot start is JSON too")
  func refusals() async throws {
    try await withSite(.pages(1), settings: settings) { site in
      try Data("mine".utf8).write(to: URL(filePath: site.socket))
      for (command, more, exit) in [
        ("run", [:], 73), ("run", ["ROSTERD_SYNC_INTERVAL": "often"], 78),
        ("sync", ["ROSTERD_CACHE_PATH": "/proc/no/roster.db"], 73),
      ] as [(String, [String: String], Int32)] {
        let outcome = try await site.rosterd(command, with: more)
        #expect(outcome.exit == exit)
        #expect(try lines(outcome.error).contains { $0.level == "error" })
      }
    }
  }
}
