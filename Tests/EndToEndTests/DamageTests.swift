import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterStatusClient
import Testing

extension CacheTrials {
  /// Damage to the cache's files under a running daemon.
  @Suite(.timeLimit(.minutes(2))) struct DamageTests {
    enum Damage: String, CaseIterable {
      case everyPage, characters, index, syncs, indexOfSyncs, indexOfChanges, wordsData, tableDropped, log
    }

    @Test(
      "43: after damage in a running daemon at most one sync fails, and the cache is moved aside and replaced",
      arguments: Damage.allCases)
    func damaged(damage: Damage) async throws {
      try await withDaemon(.pages(20)) { site, daemon, _ in
        _ = try await site.ask()
        site.next(1)
        _ = try await site.ask()
        try await make(damage, in: site)
        site.next(2)
        // The first sync may fail, and then reports the damage.
        let first = try await site.rosterctl("sync", "--wait")
        #expect(first.exit == 0 || first.exit == 73, "\(first.output)\(first.error)")
        if first.exit == 73 {
          #expect("\(first.output)\(first.error)".contains("damaged"), "\(first.output)\(first.error)")
        }
        _ = try await site.ask()
        #expect(try await site.status().state == .idle)
        let names = try site.names()
        let aside = names.filter { $0.hasPrefix("roster.db.damaged-") }
        // Data that is in memory and written again may replace the damage before it is detected.
        let isWritten = [.syncs, .indexOfSyncs].contains(damage)
        #expect(aside.contains { $0.hasSuffix("Z") } || isWritten, "\(names)")
        try site.expectModes()
        try await site.expectWell()
        #expect(
          daemon.isRunning && daemon.complaints.contains("moved aside") == !aside.isEmpty, "\(daemon.complaints)")
      }
    }

    @Test("43: after the first damage the next sync starts at once; after another within a day it waits")
    func nextSync() async throws {
      try await withDaemon(.pages(20), settings: ["ROSTERD_SYNC_RETRY_INTERVAL": "1h"]) { site, _, _ in
        _ = try await site.ask()
        for isFirst in [true, false] {
          try await make(.everyPage, in: site)
          site.next(isFirst ? 1 : 2)
          let failed = try await site.rosterctl("sync", "--wait")
          #expect(failed.exit == 73, "\(failed.output)\(failed.error)")
          let told = try await site.rosterctl("explain").output
          #expect(!told.contains("permission") && !told.contains("ReadWritePaths"), "\(told)")
          if isFirst {
            #expect(try await site.rosterctl("wait", "--timeout", "60s").exit == 0)
          } else {
            #expect(try await site.rosterctl("wait", "--timeout", "0s").exit == 1)
            #expect(try await site.status().sync.current == nil)
          }
        }
      }
    }

    @Test(
      "43: after SIGKILL a check after READY finds damage that no statement reads, also if the log is empty",
      arguments: [true, false])
    func unclean(hasLog: Bool) async throws {
      try await withSite(.pages(20)) { site in
        try await site.withDaemon { daemon, _ in
          _ = try await site.ask()
          site.next(1)
          _ = try await site.ask()
          // A publish empties the log, and the next sync writes a row into it.
          if hasLog { _ = try await site.ask() }
          _ = try await daemon.end(by: SIGKILL)
        }
        try await site.overwrite("changes_by_record")
        try await site.withDaemon { daemon, _ in
          // The damage may be found before, during or after the first sync; a sync that finds it fails.
          let first = try await site.rosterctl("sync", "--wait")
          #expect(first.exit == 0 || first.exit == 73, "\(first.output)\(first.error)")
          while !daemon.complaints.contains("moved aside") { _ = try await site.ask() }
          _ = try await site.ask()
          try await site.expectWell()
          let names = try site.names()
          #expect(names.contains { $0.hasPrefix("roster.db.damaged-") }, "\(names)")
        }
      }
    }

    /// The page size of a new cache. The page with the header stays intact.
    private static let pageSize: off_t = 16_384

    private func make(_ damage: Damage, in site: Site) async throws {
      switch damage {
      case .everyPage: try site.overwrite(site.cache, from: Self.pageSize)
      case .log:
        // The log after a publish that a reader blocked: it has frames that are not in the database yet.
        _ = try await shell(site, sql: "BEGIN IMMEDIATE; UPDATE characters SET name = name || 'x'; COMMIT")
        try site.overwrite(site.cache + "-wal", from: 32 + 24)
      case .characters: try await site.overwrite("characters")
      case .index: try await site.overwrite("characters_fts_idx")
      case .syncs: try await site.overwrite("syncs")
      case .indexOfSyncs: try await site.overwrite("syncs_by_outcome")
      case .indexOfChanges: try await site.overwrite("changes_by_record")
      case .wordsData: try await site.overwrite("characters_fts_data")
      case .tableDropped: _ = try await shell(site, sql: "DROP TABLE cache_changes")
      }
    }

    private func shell(_ site: Site, sql: String) async throws -> String {
      let outcome = try await Program.run(
        try Program.tool("sqlite3"), arguments: ["-cmd", ".timeout 5000", site.cache, sql])
      #expect(outcome.exit == 0, "\(outcome.error)")
      return outcome.output
    }

    enum Loss: String, CaseIterable { case folder, cache, log, index, both, replaced, pulled, pulledDamaged, lock }

    @Test(
      "Files that are removed or replaced under a running daemon are made again by the next sync",
      arguments: Loss.allCases)
    func lost(loss: Loss) async throws {
      try await withSite(.pages(6)) { site in
        try await site.withDaemon { daemon, _ in
          _ = try await site.ask()
          let copy = "\(site.folder)/copy.db"
          _ = try await Program.run(
            try Program.tool("sqlite3"), arguments: ["-readonly", site.cache, ".backup \(copy)"])
          site.next(1)
          _ = try await site.ask()
          try lose(loss, in: site, copy: copy)
          site.next(2)
          _ = try await site.ask()
          try await site.expectWell()
          try site.expectModes()
          // The lock still excludes every other process.
          #expect(try await site.rosterd("sync").exit == 75)
          #expect(try await site.rows("SELECT outcome FROM syncs ORDER BY id DESC LIMIT 1") == [["published"]])
          if ![.folder, .cache, .replaced].contains(loss) {
            // Committed data is still there.
            #expect(try await site.rows("SELECT count(*) FROM changes") == [["240"]])
          }
          #expect(try await daemon.end(by: SIGTERM).exit == 0)
        }
        #expect(try await site.sync().outcome == .unchanged)
        try await site.expectWell()
        let names = try site.names()
        #expect(!names.contains { $0.contains("damaged") }, "\(names)")
      }
    }

    @Test(
      "1: a cache that is removed or replaced during a sync fails it (73); the next one pulls what is missing",
      arguments: [Loss.folder, .cache, .replaced])
    func lostInMidSync(loss: Loss) async throws {
      try await withDaemon(.pages(6)) { site, _, _ in
        _ = try await site.ask()
        let copy = "\(site.folder)/copy.db"
        _ = try await Program.run(try Program.tool("sqlite3"), arguments: ["-readonly", site.cache, ".backup \(copy)"])
        site.next(1)
        site.upstream.hold(.page(6))
        let first = try await site.rosterctl("sync")
        #expect(first.exit == 0, "\(first.error)")
        try await site.upstream.waitFor { $0.held == 1 }
        try lose(loss, in: site, copy: copy)
        site.upstream.release()
        try await StatusClient(socket: site.socket).follow(after: "0") { $0.name != "sync.failed" }
        let failed = try await site.status().sync.last
        #expect(failed?.exit == 73 && failed?.error?.contains("removed or replaced") == true, "\(failed?.error ?? "")")
        _ = try await site.ask()
        try await site.expectWell()
        try site.expectModes()
      }
    }

    private func lose(_ loss: Loss, in site: Site, copy: String) throws {
      let files = FileManager.default
      switch loss {
      case .folder: try files.removeItem(atPath: "\(site.folder)/state")
      case .cache: try #require(unlink(site.cache) == 0)
      case .log: try #require(unlink(site.cache + "-wal") == 0)
      case .index: try #require(unlink(site.cache + "-shm") == 0)
      case .both: for part in ["-wal", "-shm"] { try #require(unlink(site.cache + part) == 0) }
      case .replaced: try #require(rename(copy, site.cache) == 0)
      case .pulled: try #require(unlink(site.cache + ".next") == 0)
      case .pulledDamaged: try site.overwrite(site.cache + ".next", from: 0)
      case .lock: try #require(unlink(site.cache + ".lock") == 0)
      }
    }

    // MARK: Locks

    /// Keeps the write lock from "locked" on, until its input ends or it is killed.
    private static let lock = """
      import signal, socket, sqlite3, sys
      db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
      db.execute('begin immediate')
      tell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
      signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
      tell.sendto(b'locked', sys.argv[2])
      signal.sigtimedwait({signal.SIGUSR1}, float(sys.argv[3]))
      db.execute('commit')
      """

    private func withLock(_ site: Site, seconds: Double, body: (Program) async throws -> Void) async throws {
      let path = "\(site.folder)/locked-\(UInt32.random(in: 0 ... .max))"
      let locked = try NotifySocket(path: path)
      let arguments = ["-c", Self.lock, site.cache, path, "\(seconds)"]
      let other = try Program(try Program.tool("python3"), arguments: arguments, ended: locked.close)
      try #require(await locked.first { $0 == "locked" } != nil, "\(other.complaints)")
      try await body(other)
      _ = try await other.end(by: SIGKILL)
    }

    @Test("3: rosterd waits for a lock that another program holds for a moment")
    func shortLock() async throws {
      try await withDaemon(.pages(3)) { site, _, _ in
        _ = try await site.ask()
        site.next(1)
        try await withLock(site, seconds: 0.7) { _ in _ = try await site.ask() }
        try await site.expectWell()
      }
    }

    @Test("3: a lock that another program keeps is 73, with a hint how to find it, and the next sync works")
    func longLock() async throws {
      try await withDaemon(.pages(3)) { site, _, _ in
        _ = try await site.ask()
        let before = try await site.snapshot()
        site.next(1)
        let last = try #require(try await site.status().sync.last?.id)
        try await withLock(site, seconds: 60) { other in
          let said = try await site.ask(exit: 73)
          #expect(said.contains("another program keeps it locked") && said.contains("fuser"), "\(said)")
          #expect(try await site.snapshot() == before)
          let answer = try await StatusClient(socket: site.socket).send("POST", target: "/v1/sync")
          let text = String(decoding: answer.body, as: UTF8.self)
          #expect(answer.status == 503 && text.contains(#""exit":73"#), "\(answer.status) \(text)")
          let status = try await site.status()
          #expect(status.state == .degraded && status.sync.last?.exit == 73)
          // Each request caused one sync.
          #expect(status.sync.last?.id == last + 2)
          #expect(try await site.rosterctl("wait").exit == 0)
        }
        _ = try await site.ask()
        let rows = try await site.rows("SELECT id, outcome, exit FROM syncs ORDER BY id DESC LIMIT 3")
        #expect(
          rows == [
            ["\(last + 3)", "published", "0"], ["\(last + 2)", "failed", "73"], ["\(last + 1)", "failed", "73"],
          ])
        try await site.expectWell()
      }
    }

    @Test("41: SIGTERM cancels a publish that waits for another program's lock, within 5 s")
    func stopWhileLocked() async throws {
      try await withSite(.pages(3)) { site in
        _ = try await site.sync()
        site.next(1)
        site.upstream.hold(.page(3))
        try await site.withDaemon { daemon, notify in
          try await site.upstream.waitFor { $0.held == 1 }
          try await withLock(site, seconds: 60) { _ in
            site.upstream.release()
            _ = await notify.first { $0.contains("STATUS=syncing: publishing") }
            let start = ContinuousClock.now
            let outcome = try await daemon.end(by: SIGTERM)
            #expect(try outcome.exit == 0 && #require(daemon.ended) - start < .seconds(5), "\(outcome.error)")
            #expect(outcome.error.contains("cancelled") && !outcome.error.contains("failed"), "\(outcome.error)")
          }
        }
        let report = try await site.sync()
        #expect(report.outcome == .published && report.resumed == 3)
        try await site.expectWell()
      }
    }
  }
}

extension Site {
  /// The root page of a table or an index.
  func overwrite(_ name: String) async throws {
    let page = try await rows("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = '\(name)'")
    let (number, size) = (try #require(off_t(page[0][0])), try #require(Int(page[0][1])))
    try overwrite(cache, from: (number - 1) * off_t(size), length: size)
  }

  /// - Parameter length: nil for the rest of the file.
  func overwrite(_ path: String, from offset: off_t, length: Int? = nil) throws {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    var about = stat()
    try #require(file >= 0 && fstat(file, &about) == 0)
    let garbage = [UInt8](repeating: 0xA5, count: length ?? Int(about.st_size - offset))
    #expect(pwrite(file, garbage, garbage.count, offset) == garbage.count)
    close(file)
  }
}
