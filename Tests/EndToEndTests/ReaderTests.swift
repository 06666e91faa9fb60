import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

extension CacheTrials {
  /// A user with read permission for the files, and no other permission, can read the cache at any time.
  @Suite(.timeLimit(.minutes(2))) struct ReaderTests {
    private static let pages = 5

    /// Reads the cache with the sqlite3 shell and with Python, as another user in the cache's group. Expects the number
    /// of characters, and their version.
    private func expectRead(_ site: Site, version: Int? = nil, moment: Comment) async throws {
      let user = try Stranger.prefix()
      let sql = "SELECT count(*), min(substr(name, instr(name, '·v'))) FROM characters"
      let shell = try await Program.run(
        user[0],
        arguments: user.dropFirst() + [try Program.tool("sqlite3"), "-readonly", site.cache, ".timeout 5000", sql],
        environment: ["HOME": "/"])
      let python = try await Program.run(
        user[0], arguments: user.dropFirst() + [try Stranger.python(), "-c", Self.count, site.cache, sql],
        environment: ["PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"])
      for outcome in [shell, python] {
        #expect(outcome.exit == 0 && outcome.error.isEmpty, "\(moment): \(outcome.error)")
        #expect(outcome.output.hasPrefix("\(Self.pages * 20)|"), "\(moment): \(outcome.output)")
        if let version { #expect(outcome.output.hasSuffix("·v\(version)\n"), "\(moment): \(outcome.output)") }
      }
    }

    private static let count = """
      import sqlite3, sys
      db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True, timeout=5)
      print('|'.join(str(value) for value in db.execute(sys.argv[2]).fetchone()))
      """

    /// Sets permissions as an installation does: the folder belongs to rosterd, and its group contains the readers.
    private func share(_ site: Site) throws {
      try Stranger.open(site)
      for name in try site.names() {
        try #require(chown("\(site.folder)/state/\(name)", 0, Stranger.group) == 0)
      }
      try #require(chown("\(site.folder)/state", 0, Stranger.group) == 0)
      // New files get the folder's group.
      try #require(chmod("\(site.folder)/state", 0o2750) == 0)
    }

    @Test("3: a reader in the file's group needs read permission only, at any time of the daemon's life")
    func always() async throws {
      try await withFaults(.pages(Self.pages)) { site, faults in
        _ = try Stranger.prefix()
        site.next(1)
        _ = try await site.sync()
        try share(site)
        try await expectRead(site, version: 1, moment: "after a clean stop")
        try await site.withDaemon { daemon, notify in
          try await expectRead(site, version: 1, moment: "while it starts")
          // A request during the first sync joins that sync.
          #expect(await notify.first { $0.contains("STATUS=idle") } != nil)
          site.next(2)
          _ = try await site.ask()
          try await expectRead(site, version: 2, moment: "while it runs")
          site.next(3)
          try await stopInPublish(site, daemon: daemon, faults: faults)
          try await expectRead(site, version: 2, moment: "in the middle of a publish")
          daemon.signal(SIGCONT)
          _ = try await site.ask()
          try await expectRead(site, version: 3, moment: "after it")
          _ = try await daemon.end(by: SIGKILL)
          try await expectRead(site, version: 3, moment: "after SIGKILL")
        }
        // A user with write permission opens the stopped cache, which removes the log's files.
        let other = try await Program.run(
          try Program.tool("sqlite3"), arguments: [site.cache, "SELECT count(*) FROM characters"])
        #expect(other.exit == 0)
        #expect(try !site.names().contains("roster.db-wal"))
        try await site.withDaemon { daemon, _ in
          try await expectRead(site, version: 3, moment: "after the next start")
          _ = try await daemon.end(by: SIGTERM)
        }
        try await expectRead(site, version: 3, moment: "after a stop")
      }
    }

    /// Stops the program when its publish has begun to write.
    private func stopInPublish(_ site: Site, daemon: Program, faults: DiskFaults) async throws {
      try faults.stop(at: 100_000, of: "/roster.db-wal")
      #expect(try await site.rosterctl("sync").exit == 0)
      await daemon.stopped()
      faults.end()
    }

    @Test(
      "3: whatever the umask, the cache's three files and `.published` are 0640 and every other one 0600",
      arguments: [0o077, 0o000, 0o777])
    func modes(umask: mode_t) async throws {
      let scenario = Scenario.pages(2, tokens: .init(flow: .authenticateForm, uses: [1]))
      try await withSite(scenario) { site in
        let folder = "\(site.folder)/state"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script = "umask \(String(umask, radix: 8)); exec \"$0\" \"$@\""
        let started = try await Program.run(
          try Program.tool("sh"), arguments: ["-c", script, try Program.built("rosterd"), "sync"],
          environment: site.settings)
        #expect(started.exit == 0, "\(started.error)")
        let names = try site.names()
        #expect(names.count == 8, "\(names)")
        for name in names {
          let isRead = ["roster.db", "roster.db-wal", "roster.db-shm", "roster.db.published"].contains(name)
          let wanted: mode_t = isRead ? 0o640 : 0o600
          #expect(try site.mode(name) == wanted, "\(name)")
        }
        try await site.withDaemon { _, _ in
          let mode = try site.mode("roster.db.next")
          #expect(mode == 0o600)
        }
      }
    }

    @Test(
      "3: an open transaction of a reader fails no sync; status explains the WAL, which shrinks afterwards"
    )
    func pinned() async throws {
      try await withDaemon(.pages(20)) { site, daemon, _ in
        _ = try await site.ask()
        try share(site)
        let reader = try await holdingReader(site, as: try Stranger.prefix() + [try Stranger.python()])
        for version in 1...8 {
          site.next(version)
          _ = try await site.ask()
        }
        let status = try await site.status()
        #expect(status.state == .idle && status.cache.walBytes > 1 << 20)
        #expect(status.message.contains("a reader keeps a transaction open"), "\(status.message)")
        #expect(status.message.contains("roster.db-wal cannot shrink"), "\(status.message)")
        let seen = try await reader.end(by: SIGUSR1)
        // The reader's last result equals its first one.
        #expect(seen.exit == 0 && seen.output == "same\n", "\(seen.output)\(seen.error)")
        site.next(9)
        _ = try await site.ask()
        let after = try await site.status()
        #expect(after.cache.walBytes == 0 && !after.message.contains("reader"), "\(after.message)")
        try await site.expectWell()
        #expect(daemon.isRunning)
      }
    }

    @Test("3: the WAL shrinks without another sync after the reader has ended its transaction")
    func letGo() async throws {
      try await withDaemon(.pages(20)) { site, daemon, notify in
        _ = try await site.ask()
        let reader = try await holdingReader(site, as: [try Program.tool("python3")])
        site.next(1)
        _ = try await site.ask()
        #expect(await notify.first { $0.contains("a reader keeps a transaction open") } != nil)
        _ = try await reader.end(by: SIGUSR1)
        #expect(await notify.first { $0.contains("STATUS=idle") && !$0.contains("reader") } != nil)
        #expect(try await site.status().cache.walBytes == 0)
        #expect(daemon.isRunning)
      }
    }

    @Test("3: a reader that began before the start keeps its snapshot and fails no sync")
    func olderReader() async throws {
      try await withFaults(.pages(Self.pages)) { site, faults in
        _ = try Stranger.prefix()
        site.next(1)
        _ = try await site.sync()
        try share(site)
        let reader = try await holdingReader(site, as: try Stranger.prefix() + [try Stranger.python()])
        try await site.withDaemon { _, _ in
          for version in 2...4 {
            site.next(version)
            _ = try await site.ask()
          }
          let seen = try await reader.end(by: SIGUSR1)
          #expect(seen.exit == 0 && seen.output == "same\n", "\(seen.output)\(seen.error)")
          try await site.expectWell()
        }
      }
    }

    /// Starts `hold` and returns after it has read.
    /// - Parameter python: the command that runs Python, as the reading user.
    private func holdingReader(_ site: Site, as python: [String]) async throws -> Program {
      let path = "\(site.folder)/held"
      let held = try NotifySocket(path: path)
      try #require(chmod(path, 0o777) == 0)
      let reader = try Program(
        python[0], arguments: python.dropFirst() + ["-c", Self.hold, site.cache, path], ended: held.close)
      try #require(await held.first { $0 == "held" } != nil, "\(reader.complaints)")
      return reader
    }

    /// Reads, reports that, waits for SIGUSR1 with its transaction open, and reads again.
    private static let hold = """
      import signal, socket, sqlite3, sys
      signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
      db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True, isolation_level=None, timeout=5)
      look = lambda: (db.execute('select * from characters').fetchall(), db.execute('select * from cache_info').fetchall())
      db.execute('begin')
      before = look()
      socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'held', sys.argv[2])
      signal.sigwait({signal.SIGUSR1})
      print('same' if look() == before else 'other')
      """
  }
}
