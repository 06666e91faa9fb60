import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// `rosterd sync`, the real program.
@Suite(.serialized, .timeLimit(.minutes(1))) struct SyncTests {
  @Test("1, 9: a sync stores every column and episode; the next one transfers and writes nothing")
  func all() async throws {
    try await withSite { site in
      let first = try await site.sync()
      #expect(first.outcome == .published && first.exit == 0 && first.error == nil)
      #expect([first.pages, first.records, first.added, first.requests] == [42, 826, 826, 42])
      try await site.expectUpstream()
      let before = try await site.snapshot()

      let second = try await site.sync()
      #expect(second.outcome == .unchanged)
      #expect([second.requests, second.notModified, second.bytes] == [42, 42, 0])
      #expect(site.upstream.counts.pages(answered: 304) == 42)
      // Only cache_info shows that the cache was verified later.
      #expect(try await site.snapshot().dropLast() == before.dropLast())
    }
  }

  @Test("4: empty fields, quotes, controls, non-ASCII and unknown fields arrive as upstream sends them")
  func texts() async throws {
    var scenario = Scenario(characters: Characters.made(3))
    scenario.characters[0].name = "\"Zoë\"\\\t\n\r 美咲 👩‍👩‍👧 e\u{301} <&'> /"
    scenario.characters[1] = Character(id: 2)
    scenario.characters[2].extra = #"{"power":1e400,"tags":["ä",null]}"#
    try await withSite(scenario) { site in
      #expect(try await site.sync().records == 3)
      try await site.expectUpstream()
    }
  }

  @Test("27: the number of pages in flight reaches concurrency and never exceeds it", arguments: [1, 3, 16])
  func concurrency(limit: Int) async throws {
    try await withSite(.pages(33), settings: ["ROSTERD_SYNC_CONCURRENCY": "\(limit)"]) { site in
      site.upstream.hold(.pages(2...33))
      let sync = try site.start("sync")
      try await site.upstream.waitFor { $0.held == limit }
      site.upstream.release()
      #expect(try await sync.end().exit == 0)
      let counts = site.upstream.counts
      #expect(counts.peakInFlight == limit)
      #expect(counts.connections <= limit + 1)
    }
  }

  @Test("11: changes has the added, changed and missing characters, and none is removed without a question")
  func next() async throws {
    try await withSite { site in
      _ = try await site.sync()
      site.upstream.update { characters in
        characters[4].name = "Somebody Else"
        characters[5].episodes = []
        characters.append(Character(id: 9_223_372_036_854_775_807, name: "The last"))
        characters.remove(at: 0)
      }
      let report = try await site.sync()
      #expect([report.added, report.changed, report.removed] == [1, 2, 1])
      try await site.expectUpstream()
      let changes = try await site.rows("SELECT kind, record_id FROM changes ORDER BY kind, record_id")
      #expect(changes == [["added", "9223372036854775807"], ["changed", "5"], ["changed", "6"], ["removed", "1"]])
      // The missing record, and the control question.
      #expect(site.upstream.counts.byIDRequests.count == 2)
    }
  }

  @Test("2: a failed sync leaves the snapshot unchanged, and its row")
  func failed() async throws {
    try await withSite { site in
      _ = try await site.sync()
      let before = try await site.snapshot()
      site.upstream.update { characters in characters = characters.map { $0.marked(2) } }
      site.upstream.configure { scenario in scenario.rules = [.on(.page(30), .status(501))] }
      let report = try await site.sync(exit: 65)
      #expect(report.outcome == .failed && report.exit == 65)
      #expect(try await site.snapshot() == before)
      let row = try await site.rows("SELECT outcome, exit, error FROM syncs WHERE id = \(report.id)")
      #expect(row == [["failed", "65", report.error ?? ""]])
    }
  }

  @Test(
    "40, 41: signals cancel `rosterd sync` (1), and the next one keeps its pages",
    arguments: [SIGTERM, SIGINT, SIGHUP])
  func cancelled(signal: Int32) async throws {
    try await withSite(.pages(3)) { site in
      site.upstream.hold(.page(3))
      let sync = try site.start("sync")
      try await site.upstream.waitFor { $0.held == 1 }
      sync.signal(signal)
      #expect(try await sync.end().exit == 1)
      #expect(try await site.rows("SELECT outcome FROM syncs") == [["cancelled"]])
      site.upstream.release()
      let next = try await site.sync()
      #expect(next.outcome == .published && next.resumed >= 1)
      try await site.expectUpstream()
    }
  }

  @Test("`rosterd sync` under nohup goes on when the terminal hangs up")
  func nohup() async throws {
    try await withSite(.pages(3)) { site in
      site.upstream.hold(.page(3))
      let script = "trap '' HUP; exec \"$0\" sync"
      let sync = try Program(
        try Program.tool("sh"), arguments: ["-c", script, try Program.built("rosterd")], environment: site.settings)
      try await site.upstream.waitFor { $0.held == 1 }
      sync.signal(SIGHUP)
      site.upstream.release()
      #expect(try await sync.end().exit == 0)
      try await site.expectUpstream()
    }
  }

  @Test("Without --json nothing is on stdout, and the sync's result is one line of the log")
  func quiet() async throws {
    try await withSite { site in
      let outcome = try await site.rosterd("sync")
      #expect(outcome.exit == 0 && outcome.output.isEmpty)
      #expect(outcome.error.split(separator: "\n").count == 1)
    }
  }
}
