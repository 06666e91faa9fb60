import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

extension CacheTrials {
  /// A disk that is full or fails at each stage of the real program.
  @Suite(.timeLimit(.minutes(2))) struct DiskTests {
    struct Stage: CustomTestStringConvertible, Sendable {
      var name: String
      var call: DiskFaults.Call
      var ends: String
      var testDescription: String { name }
    }

    private static let stages = [
      Stage(name: "keeping a page", call: .write, ends: "roster.db.next-wal"),
      Stage(name: "writing to the cache", call: .write, ends: "roster.db-wal"),
      Stage(name: "flushing the cache", call: .sync, ends: "roster.db-wal"),
      Stage(name: "reading the cache", call: .read, ends: "roster.db"),
      Stage(name: "every write", call: .write, ends: ""),
    ]

    @Test(
      "2: after a disk failure under a running daemon (73) the old snapshot stays, and the next sync works",
      arguments: stages, [ENOSPC, EIO])
    func running(stage: Stage, code: Int32) async throws {
      if stage.call != .write, code == ENOSPC { return }
      try await withFaults { site, faults in
        try await site.withDaemon { daemon, _ in
          _ = try await site.ask()
          let before = try await site.snapshot()
          site.next(1)
          try faults.fail(stage.call, with: code, on: stage.ends)
          for _ in 1...2 { try await expectFailure(site, code: code, before: before) }
          faults.end()
          _ = try await site.ask()
          #expect(try await site.status().state == .idle)
          try await site.expectWell()
          #expect(daemon.isRunning)
          #expect(try await daemon.end(by: SIGTERM).exit == 0)
        }
        let names = try site.names()
        #expect(!names.contains { $0.contains("damaged") || $0.hasSuffix(".new") }, "\(names)")
      }
    }

    private func expectFailure(_ site: Site, code: Int32, before: [[String]]) async throws {
      let said = try await site.ask(exit: 73)
      let hint = code == ENOSPC ? "make room" : "look at the disk"
      #expect(said.contains(hint) && said.contains("\(site.folder)/state/roster"), "\(said)")
      let status = try await site.status()
      #expect(status.state == .degraded && status.message.contains(hint), "\(status.message)")
      #expect(status.sync.last?.exit == 73 && status.cache.snapshot == 1 && status.cache.records == 60)
      #expect(try await site.snapshot() == before)
      #expect(try await site.rosterctl("wait").exit == 0)
    }

    @Test("2: the end of a sync that could not be written is written with the next one's")
    func lateRow() async throws {
      try await withFaults { site, faults in
        try await site.withDaemon { _, _ in
          _ = try await site.ask()
          site.next(1)
          site.upstream.hold(.page(3))
          #expect(try await site.rosterctl("sync", "--json").exit == 0)
          try await site.upstream.waitFor { $0.held == 1 }
          try faults.fail(.write, with: ENOSPC, on: "roster.db-wal")
          site.upstream.release()
          _ = try await site.ask(exit: 73)
          faults.end()
          _ = try await site.ask()
          let rows = try await site.rows("SELECT outcome, exit, error LIKE '%the disk is full%' FROM syncs ORDER BY id")
          #expect(rows.contains(["failed", "73", "1"]), "\(rows)")
          try await site.expectWell()
        }
      }
    }

    private static let starts = [
      Stage(name: "making the lock", call: .open, ends: "roster.db.lock"),
      Stage(name: "writing the lock", call: .write, ends: "roster.db.lock"),
      Stage(name: "making the cache", call: .open, ends: "roster.db.new"),
      Stage(name: "writing the cache", call: .write, ends: "roster.db.new-wal"),
      Stage(name: "writing the cache's header", call: .write, ends: "roster.db.new"),
      Stage(name: "flushing the cache", call: .sync, ends: "roster.db.new"),
      Stage(name: "making the log's index", call: .write, ends: "roster.db-shm"),
      Stage(name: "making the file of pulled pages", call: .open, ends: "roster.db.next"),
      Stage(name: "writing the file of pulled pages", call: .write, ends: "roster.db.next"),
    ]

    @Test(
      "A disk that fails at the start is 73 with a hint; no half file remains, and the next start works",
      arguments: starts, [ENOSPC, EIO, EROFS])
    func starting(stage: Stage, code: Int32) async throws {
      try await withFaults { site, faults in
        try faults.fail(stage.call, with: code, on: stage.ends)
        for command in ["sync", "run"] {
          let outcome = try await site.rosterd(command)
          #expect(outcome.exit == 73, "\(outcome.error)")
          let last = outcome.error.split(separator: "\n").last ?? ""
          #expect(last.contains("\(site.folder)/state/roster") && last.contains("; "), "\(outcome.error)")
          if code == ENOSPC, stage.call != .sync { #expect(last.contains("make room"), "\(outcome.error)") }
        }
        let names = try site.names()
        #expect(!names.contains { $0.contains(".new") || $0.contains("damaged") }, "\(names)")
        faults.end()
        #expect(try await site.sync().outcome == .published)
        try await site.expectWell()
      }
    }

    @Test("43: a cache that cannot be read for a moment is not treated as damaged")
    func unreadable() async throws {
      try await withFaults { site, faults in
        _ = try await site.sync()
        try faults.fail(.read, with: EIO, on: "roster.db")
        let outcome = try await site.rosterd("sync")
        #expect(outcome.exit == 73 && outcome.error.contains("look at the disk"), "\(outcome.error)")
        faults.end()
        #expect(try await site.sync().outcome == .unchanged)
        #expect(try !site.names().contains { $0.contains("damaged") })
      }
    }

    @Test("43: damage that a reader found is remembered if the disk cannot be read when it is checked")
    func unreadableDamage() async throws {
      try await withFaults { site, faults in
        _ = try await site.sync()
        site.next(1)
        _ = try await site.sync()
        try await site.withDaemon { _, _ in
          _ = try await site.ask()
          try await site.overwrite("cache_changes")
          #expect(try await site.curl("/v1/changes?since=0").status != "200")
          try faults.fail(.read, with: EIO, on: "roster.db")
          #expect(try await site.ask(exit: 73).contains("look at the disk"))
          faults.end()
          _ = try await site.ask()
          #expect(try site.names().contains { $0.hasPrefix("roster.db.damaged-") })
          try await site.expectWell()
        }
      }
    }

    @Test(
      "31: no request uses a rotated token that cannot be stored; the next sync stores it without a refresh",
      arguments: [DiskFaults.Call.write, .sync, .open])
    func token(call: DiskFaults.Call) async throws {
      let scenario = Scenario.pages(3, tokens: .init(flow: .authenticateForm, uses: [1]))
      try await withFaults(scenario) { site, faults in
        site.upstream.hold(.anyToken)
        try await site.withDaemon { _, _ in
          // Before it sends the request, the daemon checks that the store can be written.
          try await site.upstream.waitFor { $0.held == 1 }
          try faults.fail(call, with: ENOSPC, on: "token.json.new")
          site.upstream.release()
          for _ in 1...3 {
            let said = try await site.ask(exit: 73)
            #expect(said.contains("token.json") && said.contains("No space left"), "\(said)")
            #expect(try await site.status().state == .degraded)
          }
          let counts = site.upstream.counts
          #expect(counts.tokenRequests.count == 1 && counts.tokensGranted == 1)
          #expect(!counts.pageRequests.contains { $0.generation == 1 })
          faults.end()
          _ = try await site.ask()
        }
        #expect(site.upstream.counts.tokenRequests.count == 1 && site.upstream.counts.reuses == 0)
        let store = FileManager.default.contents(atPath: site.tokenStore) ?? Data()
        let granted = site.upstream.secrets.filter { $0.hasPrefix("refresh-") }
        #expect(granted.last.map { String(decoding: store, as: UTF8.self).contains($0) } == true)
        #expect(try site.mode("token.json") == 0o600)
        try await site.expectWell()
      }
    }
  }
}
