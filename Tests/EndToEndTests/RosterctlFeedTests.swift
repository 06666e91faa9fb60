import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterStatusClient
import Testing

/// rosterctl changes, show --at and cancel beside the real rosterd.
@Suite(.timeLimit(.minutes(1))) struct RosterctlFeedTests {
  private func withChanges(_ body: (Site, [String]) async throws -> Void) async throws {
    try await withSite(.pages(2)) { site in
      _ = try await site.sync()
      site.upstream.update { characters in
        for index in 0..<3 { characters[index] = characters[index].marked(1) }
      }
      _ = try await site.sync()
      let ids = try await site.rows("SELECT record_id FROM changes ORDER BY id").map { $0[0] }
      try await body(site, ids)
    }
  }

  private func changes(_ site: Site, arguments: String...) async throws -> Program.Outcome {
    try await Program.run(try Program.built("rosterctl"), arguments: ["changes", "--cache", site.cache] + arguments)
  }

  @Test("rosterctl changes prints lines for people, and as JSON those of /v1/changes, without a daemon too")
  func lines() async throws {
    try await withChanges { site, ids in
      let text = try await changes(site)
      #expect(text.exit == 0 && text.output.split(separator: "\n").count == 3 && ids.count == 3)
      #expect(text.output.contains("  changed  character \(ids[0]) "))
      let json = try await changes(site, arguments: "--since", "1", "--json", "--resource", "character")
      let lines = json.output.split(separator: "\n")
      #expect(json.exit == 0 && lines.count == 2)
      try await site.withDaemon { _, _ in
        let answer = try await StatusClient(socket: site.socket).send("GET", target: "/v1/changes?since=1")
        #expect(
          String(decoding: answer.body, as: UTF8.self).contains(
            "\"changes\":[\(lines.joined(separator: ","))],\"last\":3}"))
      }
      let none = try await changes(site, arguments: "--since", "3")
      #expect(none.exit == 0 && none.output.isEmpty && none.error == "nothing has changed since change 3\n")
    }
  }

  @Test(
    "7: rosterctl changes is 65 if it cannot go on, 64 for bad options, 1 for an unknown resource, 73 without cache",
    arguments: [
      (["--since", "4"], 65, "it ends with change 3, before 4; read everything again"),
      (["--since", "3", "--feed", "another"], 65, "the feed is another one: "),
      (["--follow", "--feed", "another"], 65, "the feed is another one: "),
      (["--since=-1"], 64, "--since must be the id of a change, or 0"), (["--since", "x"], 64, "invalid for '--since"),
      (["--resource", "issue"], 1, "/roster.db has no resource of that name; name one that it has: character"),
      (["--follow", "--cache", "/nowhere/roster.db"], 73, "there is no cache yet"),
    ] as [([String], Int32, String)])
  func refusals(arguments: [String], exit: Int32, sentence: String) async throws {
    try await withChanges { site, _ in
      let outcome = try await Program.run(
        try Program.built("rosterctl"),
        arguments: ["changes"] + (arguments.contains("--cache") ? [] : ["--cache", site.cache]) + arguments)
      #expect(outcome.exit == exit && outcome.output.isEmpty && outcome.error.contains(sentence), "\(outcome.error)")
    }
  }

  @Test("rosterctl changes --follow goes on over syncs, and Ctrl-C ends it with 0")
  func follow() async throws {
    try await withChanges { site, _ in
      let script = """
        set -m
        exec 3< <(exec "$0" changes --follow --json --cache "$1")
        follower=$!
        for _ in 1 2 3; do read -r line <&3; echo "${line%%,*}"; done
        "$2" sync 2>/dev/null || exit
        read -r line <&3; echo "${line%%,*}"
        kill -INT $follower; wait $follower; echo "ended with $?"
        """
      site.upstream.update { $0[5] = $0[5].marked(2) }
      let outcome = try await Program.run(
        try Program.tool("bash"),
        arguments: ["-c", script, try Program.built("rosterctl"), site.cache, try Program.built("rosterd")],
        environment: site.settings)
      let lines = (1...4).map { #"{"id":\#($0)"# } + ["ended with 0"]
      #expect(outcome.output.split(separator: "\n").map(String.init) == lines, "\(outcome.error)")
    }
  }

  @Test("rosterctl show --at shows the record at that time; before the first snapshot it is 1, for a bad time 64")
  func then() async throws {
    try await withChanges { site, ids in
      func show(_ time: String) async throws -> Program.Outcome {
        try await Program.run(
          try Program.built("rosterctl"),
          arguments: ["show", "character", ids[0], "--json", "--at", time, "--cache", site.cache])
      }
      let first = try await site.rows("SELECT finished_at FROM syncs WHERE id = 1")[0][0]
      let (before, now) = (try await show(first), try await show("0s"))
      let state = try await site.rows("SELECT before ->> '$.status', after ->> '$.status' FROM changes WHERE id = 1")[0]
      #expect(before.exit == 0 && before.output.contains("\"status\":\"\(state[0])\"") && state[0] != state[1])
      #expect(before.output.hasSuffix("\"changes\":[]}\n"))
      #expect(now.output.contains("\"status\":\"\(state[1])\""))
      let early = try await show("1d")
      #expect(early.exit == 1 && early.error.contains("the cache held no snapshot of character at "))
      for (time, sentence) in [("2999-01-01", "is yet to come"), ("soon", "it must be a time such as ")] {
        let refused = try await show(time)
        #expect(refused.exit == 64 && refused.error.contains("--at is \(time)") && refused.error.contains(sentence))
      }
    }
  }

  @Test("2, 40: rosterctl cancel ends the running sync; readers see no change, and the next sync keeps its pages")
  func cancel() async throws {
    try await withSite(.pages(6), settings: ["ROSTERD_SYNC_CONCURRENCY": "1"]) { site in
      site.upstream.hold(.page(5))
      try await site.withDaemon { _, _ in
        try await site.upstream.waitFor { $0.held == 1 }
        let outcome = try await site.rosterctl("cancel")
        #expect(outcome.exit == 0, "\(outcome.error)")
        #expect(outcome.output == "sync 1 is cancelled; what it pulled is kept for the next\n")
        site.upstream.release()
        let again = try await site.rosterctl("sync", "--wait", "--json")
        let report = try JSONDecoder().decode(SyncRecord.self, from: Data(again.output.utf8))
        let rows = try await site.rows("SELECT id, outcome, exit, resumed FROM syncs ORDER BY id")
        #expect(
          rows[0] == ["1", "cancelled", "1", "0"] && report.outcome == .published
            && report.notModified + report.resumed > 0)
        let none = try await site.rosterctl("cancel")
        #expect(none.exit == 1 && none.error == "rosterctl: cannot cancel the sync (the daemon): no sync runs\n")
      }
      #expect(try await site.rosterctl("cancel").exit == 3)
    }
  }
}
