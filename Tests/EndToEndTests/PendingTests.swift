import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import RosterSimulator
import Testing

/// `rosterd sync --dry-run` and `rosterctl pending`, the real programs, counted on upstream's side.
@Suite(.serialized, .timeLimit(.minutes(1))) struct PendingTests {
  @Test(
    "51: --dry-run publishes nothing and prints what would change; the next sync asks for each page again",
    arguments: [Scenario.Validators.etag, .none])
  func tried(validators: Scenario.Validators) async throws {
    var scenario = Scenario()
    scenario.validators = validators
    try await withSite(scenario) { site in
      _ = try await site.sync()
      site.upstream.update { characters in
        characters[4].status = "Gone"
        characters[40].episodes = ["e/1"]
        characters[41].extra = #"{"power":1e400}"#
        characters.append(Character(id: 900, name: "New"))
        characters.remove(at: 0)
      }
      let before = try await site.snapshot()
      let outcome = try await site.rosterd("sync", "--dry-run", "--json")
      #expect(outcome.exit == 0, "\(outcome.error)")
      #expect(try await site.snapshot() == before)
      let row = try await site.rows(
        "SELECT id, outcome, added, changed, removed, exit FROM syncs ORDER BY id DESC LIMIT 1")
      #expect(row == [["2", "tried", "1", "3", "1", "0"]])
      let shown = try await site.rosterctl("pending", "--json", "--cache", site.cache)
      #expect(shown.exit == 0 && shown.output == outcome.output)
      let json = try JSONValue(json: shown.output.utf8)
      #expect(json["sync"] == .integer(2))
      let resource = try #require(json["resources"]?.elements.first)
      #expect(resource["resource"] == .text("character"))
      #expect(resource["added"]?.elements.map { $0["key"] } == [.integer(900)])
      #expect(resource["removed"]?.elements.map { $0["key"] } == [.integer(1)])
      #expect(resource["changed"]?.elements.map { $0["key"] } == [.integer(5), .integer(41), .integer(42)])
      #expect(
        resource["changed"]?.elements.map { $0["fields"] } == [
          .list([.text("status")]), .list([.text("episodes")]), .list([.text("extra.power")]),
        ])

      let seen = site.upstream.counts.pageRequests.count
      let next = try await site.sync()
      #expect([next.added, next.changed, next.removed] == [1, 3, 1])
      let again = site.upstream.counts.pageRequests.dropFirst(seen)
      switch validators {
      case .none: #expect(again.count == 42 && again.allSatisfy { $0.status == 200 } && next.resumed == 0)
      default: #expect(again.count == 42 && again.allSatisfy { $0.status == 304 } && next.notModified == 42)
      }
      try await site.expectUpstream()
      let empty = try await site.rosterctl("pending", "--json", "--cache", site.cache)
      #expect(empty.output == #"{"sync":null,"resources":[]}"# + "\n")
    }
  }

  @Test(
    "12, 51: at the removal guard --dry-run exits with 65 and lists the removals; a repaired upstream is seen",
    arguments: [true, false])
  func guarded(isDryRun: Bool) async throws {
    var scenario = Scenario.pages(5)
    scenario.validators = .none
    try await withSite(scenario) { site in
      _ = try await site.sync()
      let before = try await site.snapshot()
      let all = site.upstream.characters
      site.upstream.update { $0.removeLast(21) }
      let outcome =
        isDryRun ? try await site.rosterd("sync", "--dry-run") : try await site.rosterd("sync")
      #expect(outcome.exit == 65 && outcome.error.contains("21 of 100"), "\(outcome.error)")
      let shown = try await site.rosterctl("pending", "--cache", site.cache)
      #expect(outcome.output == (isDryRun ? shown.output : ""))
      let lines = shown.output.split(separator: "\n")
      #expect(lines.first?.contains("--allow-removal") == true)
      #expect(lines.filter { $0.hasPrefix("− character ") }.count == 21)
      #expect(try await site.snapshot() == before)
      #expect(try await site.rows("SELECT outcome FROM syncs ORDER BY id DESC LIMIT 1") == [["failed"]])
      site.upstream.update { $0 = all }
      let seen = site.upstream.counts.pageRequests.count
      #expect(try await site.sync().outcome == .unchanged)
      // Each page is requested, and the last one was missing.
      #expect(site.upstream.counts.pageRequests.dropFirst(seen).compactMap(\.page).sorted() == [1, 2, 3, 4, 5])
      try await site.expectUpstream()
    }
  }

  @Test(
    "9, 40: pages of an interrupted sync that arrive unchanged are not transferred again, also without validators")
  func cameAgain() async throws {
    var scenario = Scenario.pages(5)
    scenario.validators = .none
    try await withSite(scenario, settings: ["ROSTERD_SYNC_CONCURRENCY": "1"]) { site in
      _ = try await site.sync()
      site.upstream.configure { $0.rules = [.on(.page(4), .status(501))] }
      _ = try await site.sync(exit: 65)
      site.upstream.configure { $0.rules = [] }
      let seen = site.upstream.counts.pageRequests.count
      let next = try await site.sync()
      #expect(site.upstream.counts.pageRequests.dropFirst(seen).compactMap(\.page) == [1, 4, 5])
      #expect(next.outcome == .unchanged && next.resumed == 2)
    }
  }

  @Test("--dry-run exits as the sync would have failed, and an interrupted sync shows nothing as removed")
  func failed() async throws {
    try await withSite(.pages(5), settings: ["ROSTERD_SYNC_CONCURRENCY": "1"]) { site in
      _ = try await site.sync()
      site.upstream.update { characters in
        characters = characters.map { $0.marked(2) }
        characters.remove(at: 99)
      }
      site.upstream.configure { $0.rules = [.on(.page(4), .status(404)), .on(.page(4), .status(501))] }
      let outcome = try await site.rosterd("sync", "--dry-run")
      #expect(outcome.exit == 65 && outcome.output.isEmpty)
      let shown = try await site.rosterctl("pending", "--json", "--cache", site.cache)
      let resource = try #require(try JSONValue(json: shown.output.utf8)["resources"]?.elements.first)
      #expect(resource["changed"]?.elements.count == 60 && resource["removed"] == .list([]))
    }
  }

  @Test("pending reads its tables, a dry run before the first sync, and a running daemon's pull, and writes nothing")
  func beside() async throws {
    try await withSite(.pages(3)) { site in
      let first = try await site.rosterd("sync", "--dry-run")
      #expect(first.exit == 0 && first.output.split(separator: "\n").filter { $0.hasPrefix("+ ") }.count == 60)
      #expect(try await site.rows("SELECT count(*) FROM characters") == [["0"]])
      let seen = site.upstream.counts.pageRequests.count
      try await site.withDaemon { daemon, notify in
        #expect(await notify.first { $0.contains("60 records") } != nil)
        #expect(site.upstream.counts.pageRequests.dropFirst(seen).allSatisfy { $0.status == 304 })
        site.upstream.update { characters in characters = characters.map { $0.marked(2) } }
        site.upstream.hold(.page(3))
        let sync = try await site.rosterctl("sync")
        #expect(sync.exit == 0)
        try await site.upstream.waitFor { $0.held == 1 }
        let folder = try FileManager.default.contentsOfDirectory(atPath: "\(site.folder)/state").sorted()
        // Arrived pages are stored a moment later, in batches.
        var busy = try await site.rosterctl("pending", "--cache", site.cache)
        while busy.output.hasPrefix("nothing") {
          busy = try await site.rosterctl("pending", "--cache", site.cache)
        }
        #expect(busy.exit == 0 && busy.output.hasPrefix("sync 3 runs: "), "\(busy)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(site.folder)/state").sorted() == folder)
        #expect(try await site.rosterd("sync", "--dry-run").exit == 75)
        site.upstream.release()
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
      }
      try await site.expectUpstream()
    }
  }

  @Test("Without a cache, with another program's or an unreadable file, pending is one sentence and 73")
  func bad() async throws {
    try await withSite(.pages(1)) { site in
      let none = try await site.rosterctl("pending", "--cache", site.cache)
      #expect(none.exit == 73 && none.error.split(separator: "\n").count == 1)
      _ = try await site.sync()
      let path = "\(site.cache).next"
      for (text, word) in [("somebody's", "rosterd did not make this file")] {
        unlink(path)
        try Data(text.utf8).write(to: URL(filePath: path))
        let outcome = try await site.rosterctl("pending", "--json", "--cache", site.cache)
        #expect(outcome.exit == 73 && outcome.error.contains(word), "\(outcome.error)")
        #expect(outcome.error.split(separator: "\n").count == 1)
      }
      unlink(path)
      let lost = try await site.rosterctl("pending", "--cache", site.cache)
      #expect(lost.exit == 0 && lost.output == "nothing is pulled that is not published\n")
    }
  }
}
