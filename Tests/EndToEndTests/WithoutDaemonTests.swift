import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import RosterSimulator
import Testing

/// The output of rosterctl for a cache without a running daemon: after `rosterd sync`, after a kill, without a cache.
@Suite(.serialized, .timeLimit(.minutes(2))) struct WithoutDaemonTests {
  @Test("50: without a daemon status and history print what the cache contains, and exit with 3")
  func cache() async throws {
    try await withSite(.pages(3)) { site in
      let sync = try await site.sync()
      let status = try await site.rosterctl("status", "--json", "--cache", site.cache)
      #expect(status.exit == 3 && status.error.isEmpty)
      let json = try JSONValue(json: status.output.utf8)
      for name in ["version", "pid", "started_at", "uptime_seconds", "state", "upstream", "token", "config"] {
        #expect(json[name] == .null, "\(name)")
      }
      #expect(json["sync"]?["current"] == .null && json["sync"]?["next_at"] == .null)
      #expect(json["sync"]?["last"]?["id"] == .integer(1) && json["sync"]?["last"]?["outcome"] == .text("published"))
      #expect(json["cache"]?["path"] == .text(site.cache) && json["cache"]?["records"] == .integer(60))
      let verified = json["cache"]?["verified_at"]?.text ?? ""
      #expect(sync.startedAt <= verified && verified <= sync.finishedAt ?? "" && json["cache"]?["age_seconds"] != .null)
      #expect(
        json["cache"]?["resources"]?.elements.first?["absent"] == .integer(0)
          && json["cache"]?["size_bytes"] != .integer(0))
      let said = "no daemon answers: No such file or directory (\(site.socket)); this is what the cache contains"
      let message = said + "; rosterctl explain says why"
      #expect(json["message"] == .text(message))

      let people = try await site.rosterctl("status", "--cache", site.cache)
      #expect(people.exit == 3 && people.error.isEmpty && people.output.hasPrefix("○ no daemon answers: "))
      #expect(
        people.output.contains("60 records, 3 pages, complete by upstream's count, verified "), "\(people.output)")
      #expect(people.output.contains("sync 1 published") && !people.output.contains("token"), "\(people.output)")
      #expect(try await site.rosterctl("status", "--check", "--cache", site.cache).output == "○ \(message)\n")

      let history = try await site.rosterctl("history", "--json", "--cache", site.cache)
      let syncs = try JSONValue(json: history.output.utf8)["syncs"]?.elements
      #expect(history.exit == 3 && syncs?.count == 1 && syncs?.first?["records"] == .integer(60))
      #expect(history.error == "rosterctl: note: \(said)\n")
    }
  }

  @Test(
    "47: without a daemon the log, status and explain say that the session ends before the next sync",
    arguments: [600, 7200])
  func sessionEnd(life: Int) async throws {
    var tokens = Scenario.Tokens(flow: .bearerRenew, uses: [0], lifetime: .seconds(life))
    tokens.areJWTs = true
    try await withSite(.pages(1, tokens: tokens)) { site in
      let synced = try await site.rosterd("sync", "--json")
      #expect(synced.exit == 0, "\(synced.error)")
      let status = try await site.rosterctl("status", "--check", "--cache", site.cache)
      let explained = try await site.rosterctl("explain", "--json", "--cache", site.cache)
      for text in [synced.error, status.output, explained.output] {
        #expect(text.contains("before the next sync") == (life < 3600), "\(text)")
      }
    }
  }

  @Test("50: without a daemon and a cache there is one message that names both", arguments: ["status", "history"])
  func nothing(command: String) async throws {
    try await withSite { site in
      for form in [[], ["--json"]] {
        let outcome = try await Program.run(
          try Program.built("rosterctl"), arguments: [command, "--cache", site.cache] + form,
          environment: ["ROSTERD_STATUS_SOCKET": site.socket])
        #expect(outcome.exit == 3 && outcome.output.isEmpty && outcome.error.count { $0 == "\n" } == 1)
        #expect(outcome.error.contains("(\(site.socket)): no daemon answers"))
        #expect(outcome.error.contains("(\(site.cache)): there is no cache yet"))
      }
    }
  }

  @Test("After SIGKILL of a sync no output claims that it runs or that all is well; a running sync is shown")
  func killed() async throws {
    try await withSite(.pages(3)) { site in
      _ = try await site.sync()
      site.upstream.update { $0 = $0.map { $0.marked(2) } }
      site.upstream.hold(.page(3))
      let sync = try site.start("sync")
      try await site.upstream.waitFor { $0.held == 1 }
      let running = try await site.rosterctl("explain", "--json", "--cache", site.cache)
      #expect(running.output.contains("Sync 2 began at ") && running.output.contains(" and has not ended."))
      #expect(try await site.rosterctl("pending", "--cache", site.cache).output.hasPrefix("sync 2 runs: "))
      _ = try await sync.end(by: SIGKILL)
      site.upstream.release()

      let explained = try await site.rosterctl("explain", "--json", "--cache", site.cache)
      #expect(explained.output.contains("Sync 2 was interrupted when its process ended"), "\(explained.output)")
      #expect(!explained.output.contains("All is well"))
      let pending = try await site.rosterctl("pending", "--cache", site.cache)
      #expect(pending.output.hasPrefix("sync 2 was interrupted: "), "\(pending.output)")
      let history = try await site.rosterctl("history", "--cache", site.cache)
      #expect(history.output.contains("  interrupted") && !history.output.contains("running"))
      let status = try await site.rosterctl("status", "--json", "--cache", site.cache)
      #expect(try JSONValue(json: status.output.utf8)["sync"]?["last"]?["outcome"] == .text("interrupted"))
      // The reader's shared lock does not prevent a sync from taking its own.
      #expect(try await site.sync().outcome == .published)
    }
  }
}
