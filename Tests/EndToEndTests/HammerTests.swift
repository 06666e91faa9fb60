import Dispatch
import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

extension CacheTrials {
  /// Eight readers read continuously, while the daemon is killed at random times (`make soak`: 200 snapshots).
  @Suite(.timeLimit(.minutes(20))) struct HammerTests {
    private static let wanted = ProcessInfo.processInfo.environment["ROSTER_HAMMER"].flatMap(Int.init)
    private static let snapshots = wanted ?? 12
    /// The readers read continuously, and other tests need the machine, too.
    private static let niceness = wanted == nil ? "19" : "0"
    private static let readers = 8
    private static let pages = 3

    @Test(
      "1, 2: each read of eight readers has one whole version in every table, however often the daemon is killed")
    func hammer() async throws {
      var dice = SeededDice(seed: 42)
      try await withSite(.pages(Self.pages)) { site in
        let (nice, python) = (try Program.tool("nice"), try Program.tool("python3"))
        site.show(0)
        _ = try await site.sync()
        let last = "v\(Self.snapshots)"
        let started = try NotifySocket(path: "\(site.folder)/started")
        defer { started.close() }
        let readers = try (0..<Self.readers).map { _ in
          try Program(
            nice,
            arguments: ["-n", Self.niceness, python, "-c", Self.reader, site.cache, last, "\(site.folder)/started"],
            environment: ["PYTHONUTF8": "1"], ended: started.close)
        }
        // Each reader has read the first version before the next one is published.
        for _ in readers { _ = await started.first { $0 == "ready" } }
        var version = 0
        var kills = 0
        while version < Self.snapshots {
          try await site.withDaemon { daemon, _ in
            // The sync at the daemon's start comes first, because upstream may change only between syncs.
            _ = try await site.ask()
            while version < Self.snapshots {
              version += 1
              site.show(version)
              if version < Self.snapshots, Int.random(in: 0..<4, using: &dice) == 0 {
                try await kill(site, daemon: daemon, using: &dice)
                kills += 1
                return
              }
              _ = try await site.ask()
            }
          }
          #expect(try await site.rows("PRAGMA integrity_check") == [["ok"]])
        }
        #expect(kills > Self.snapshots / 10)
        for reader in readers {
          let outcome = try await reader.end()
          #expect(outcome.exit == 0, "\(outcome.output)\(outcome.error)")
          let counts = outcome.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
          try #require(counts.count == 3, "\(outcome.output)\(outcome.error)")
          // Numbers of versions, of reads, and of checks of the index.
          #expect(counts[0] > 1 && counts[1] > 1 && counts[2] > 0, "\(counts)")
        }
        try await site.expectEnd(version)
      }
    }

    /// During the pull or during the publish.
    private func kill(_ site: Site, daemon: Program, using dice: inout SeededDice) async throws {
      if Bool.random(using: &dice) {
        let before = site.upstream.counts.pageRequests.count
        site.upstream.hold(.request(before + Int.random(in: 1...Self.pages, using: &dice)))
        let asking = try Program(
          try Program.built("rosterctl"), arguments: ["sync"], environment: ["ROSTERD_STATUS_SOCKET": site.socket])
        try await site.upstream.waitFor { $0.held == 1 }
        _ = try await daemon.end(by: SIGKILL)
        _ = try await asking.end()
        site.upstream.release()
      } else {
        let bytes = Int64.random(in: 1...300_000, using: &dice)
        let asking = try Program(
          try Program.built("rosterctl"), arguments: ["sync", "--wait"],
          environment: ["ROSTERD_STATUS_SOCKET": site.socket])
        let path = "\(site.cache)-wal"
        await withCheckedContinuation { met in
          DispatchQueue(label: "log").async {
            var about = stat()
            while asking.isRunning, stat(path, &about) != 0 || Int64(about.st_size) < bytes { sched_yield() }
            met.resume()
          }
        }
        _ = try await daemon.end(by: SIGKILL)
        _ = try await asking.end()
      }
    }

    /// Reads until it has seen the last version; prints the numbers of versions, of reads and of checks of the index.
    private static let reader = """
      import socket, sqlite3, sys
      path, last, started = sys.argv[1:]
      db = sqlite3.connect('file:' + path + '?mode=ro', uri=True, isolation_level=None, timeout=30)
      ask = lambda sql, *a: [row[0] for row in db.execute(sql, a)]
      mark = lambda text: text.rsplit('·', 1)[-1]
      seen, reads, checks = set(), 0, 0
      while last not in seen:
          db.execute('begin')
          rows = db.execute('select name, status, species, type, gender, origin_name, origin_url, location_name,'
              ' location_url, image, url, created from characters').fetchall()
          found = {mark(text) for row in rows for text in row}
          snapshot, count = db.execute('select snapshot, records from cache_info').fetchone()
          version = min(found)
          wrong = []
          def check(name, got, wanted):
              if got != wanted: wrong.append((name, got, wanted))
          check('characters', found, {version})
          check('count', len(rows), count)
          check('changed_sync', set(ask('select changed_sync from characters')), {snapshot})
          check('episodes', {mark(url) for url in ask('select url from character_episodes')}, {version})
          check('rejects', {mark(text) for text in ask("select document ->> 'name' from rejects")}, {version})
          check('sync of rejects', set(ask('select sync_id from rejects')), {snapshot})
          if version != 'v0':
              newest = 'select %s from changes where sync_id = (select max(sync_id) from changes)'
              check('changes', {mark(name) for name in ask(newest % "after ->> 'name'")}, {version})
              check('sync of changes', set(ask(newest % 'sync_id')), {snapshot})
          check('index', sorted(ask('select rowid from characters_fts where characters_fts match ?', version)),
              ask('select id from characters order by id'))
          check('outcome', ask('select outcome from syncs where id = ?', snapshot), ['published'])
          check('integrity', ask('pragma integrity_check'), ['ok'])
          if reads % 10 == 0 or version == last:
              # FTS5's own check is an INSERT, so it is made on a copy of what this transaction sees.
              copy = sqlite3.connect(':memory:', isolation_level=None)
              db.backup(copy)
              copy.execute("insert into characters_fts(characters_fts, rank) values ('integrity-check', 1)")
              check('copy', copy.execute('select count(*) from characters').fetchone(), (count,))
              copy.close()
              checks += 1
          db.execute('commit')
          if wrong: sys.exit(str((version, wrong)))
          seen.add(version)
          reads += 1
          if reads == 1: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'ready', started)
      print(len(seen), reads, checks)
      """
  }
}

extension Site {
  /// The next version of all characters, and of the one record that can never be stored.
  fileprivate func show(_ version: Int) {
    next(version)
    let reject = #"{"id":"none","name":"nobody ·v\#(version)"}"#
    upstream.configure { $0.rules = [.on(.page(1), .records([0: reject]))] }
  }

  fileprivate func expectEnd(_ version: Int) async throws {
    #expect(try await rows("SELECT DISTINCT substr(name, instr(name, '·v')) FROM characters") == [["·v\(version)"]])
    #expect(try await rows("SELECT count(*) FROM syncs WHERE outcome = 'running'") == [["0"]])
  }
}
