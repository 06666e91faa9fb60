import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

extension CacheTrials {
  /// Unexpected files at the path of the cache, at the start and under a running daemon.
  @Suite(.timeLimit(.minutes(2))) struct OddCacheTests {
    // MARK: At the start

    private func refused(_ site: Site, words: String, as user: [String] = []) async throws {
      let program = try Program.built("rosterd")
      let words = [words]
      for command in ["sync", "run"] {
        let outcome =
          user.isEmpty
          ? try await site.rosterd(command)
          : try await Program.run(
            user[0], arguments: user.dropFirst() + [program, command], environment: site.settings)
        #expect(outcome.exit == 73, "\(outcome.error)")
        let last = outcome.error.split(separator: "\n").last ?? ""
        #expect(words.allSatisfy(last.contains) && last.contains("; "), "\(outcome.error)")
      }
    }

    private func makeState(_ site: Site) throws {
      try FileManager.default.createDirectory(atPath: "\(site.folder)/state", withIntermediateDirectories: true)
    }

    @Test("43: a folder in the cache's place is refused")
    func folder() async throws {
      try await withSite(.pages(1)) { site in
        try FileManager.default.createDirectory(atPath: site.cache, withIntermediateDirectories: true)
        try await refused(site, words: "it is not a file")
        #expect(try site.names() == ["roster.db"])
      }
    }

    @Test("43: a FIFO in the cache's place is refused, not waited for")
    func fifo() async throws {
      try await withSite(.pages(1)) { site in
        try makeState(site)
        try #require(mkfifo(site.cache, 0o600) == 0)
        try await refused(site, words: "it is not a file")
      }
    }

    @Test("A link is followed: the files lie beside its target, and the lock is that of the target")
    func link() async throws {
      try await withSite(.pages(1)) { site in
        _ = try await site.sync()
        let link = "\(site.folder)/link.db"
        try #require(symlink(site.cache, link) == 0)
        site.next(1)
        var other = site
        other.settings["ROSTERD_CACHE_PATH"] = link
        try await other.withDaemon { _, _ in
          _ = try await other.ask()
          #expect(try await other.status().cache.sizeBytes > 4096)
          #expect(try await site.rosterd("sync").exit == 75)
        }
        try await site.expectWell()
        #expect(try await site.rows("SELECT count(*) FROM characters", of: link) == [["20"]])
        let names = try FileManager.default.contentsOfDirectory(atPath: site.folder)
        #expect(!names.contains { $0.hasPrefix("link.db-") || $0.hasPrefix("link.db.") }, "\(names)")
        #expect(try site.mode("roster.db") == 0o640)
      }
    }

    @Test("A link to nothing is refused")
    func brokenLink() async throws {
      try await withSite(.pages(1)) { site in
        try makeState(site)
        try #require(symlink("\(site.folder)/nothing", site.cache) == 0)
        try await refused(site, words: "leads nowhere")
      }
    }

    @Test("A cache of another user that this user may not read or write is refused", arguments: [0o000, 0o444])
    func permission(mode: mode_t) async throws {
      try await withSite(.pages(1)) { site in
        _ = try await site.sync()
        let user = try Stranger.prefix(user: Stranger.owner, group: Stranger.owner)
        try Stranger.open(site)
        try #require(chown("\(site.folder)/state", Stranger.owner, Stranger.owner) == 0)
        for name in ["roster.db.lock", "roster.db.next"] {
          try #require(chown("\(site.folder)/state/\(name)", Stranger.owner, Stranger.owner) == 0)
        }
        try #require(chmod(site.cache, mode) == 0)
        try await refused(site, words: site.cache, as: user)
        #expect(try site.mode("roster.db") == mode)
      }
    }

    enum Content: String, CaseIterable {
      case garbage, otherProgram, newer, empty, truncated, beheaded, halved
    }

    @Test(
      "43: any file in the cache's place is used, moved aside or left unchanged",
      arguments: Content.allCases)
    func content(content: Content) async throws {
      try await withSite(.pages(3)) { site in
        if ![.garbage, .otherProgram].contains(content) { _ = try await site.sync() } else { try makeState(site) }
        try await put(content, in: site)
        let bytes = FileManager.default.contents(atPath: site.cache)
        switch content {
        case .garbage, .otherProgram, .newer:
          try #require(chmod(site.cache, 0o604) == 0)
          let names = try site.names()
          let words = [.garbage: "did not make", .otherProgram: "another program", .newer: "a newer rosterd"][content]
          try await refused(site, words: words ?? "")
          #expect(try site.mode("roster.db") == 0o604)
          #expect(FileManager.default.contents(atPath: site.cache) == bytes)
          #expect(try site.names() == names)
        case .empty:
          #expect(try await site.sync().outcome == .published)
          try await site.expectWell()
        case .truncated, .beheaded, .halved:
          #expect(try await site.sync().outcome == .published)
          try await site.expectWell()
          let aside = try #require(try site.names().first { $0.hasPrefix("roster.db.damaged-") })
          #expect(FileManager.default.contents(atPath: "\(site.folder)/state/\(aside)") == bytes)
        }
      }
    }

    private func put(_ content: Content, in site: Site) async throws {
      let shell = try Program.tool("sqlite3")
      switch content {
      case .garbage: try Data("my holiday diary".utf8).write(to: URL(filePath: site.cache))
      case .otherProgram:
        _ = try await Program.run(shell, arguments: [site.cache, "PRAGMA application_id = 77; CREATE TABLE t(x)"])
      case .newer:
        _ = try await Program.run(
          shell, arguments: [site.cache, "PRAGMA journal_mode = DELETE; PRAGMA user_version = 99"])
      case .empty: try #require(truncate(site.cache, 0) == 0)
      case .truncated: try #require(truncate(site.cache, 50) == 0)
      case .halved: try #require(truncate(site.cache, 40_000) == 0)
      case .beheaded:
        let file = open(site.cache, O_WRONLY)
        try #require(pwrite(file, [UInt8](repeating: 0xA5, count: 4096), 4096, 0) == 4096)
        close(file)
      }
    }

    @Test(
      "3: -wal and -shm that were removed are made again at the next start", arguments: ["-wal", "-shm", "both"])
    func missingLog(part: String) async throws {
      try await withSite(.pages(2)) { site in
        _ = try await site.sync()
        for name in part == "both" ? ["-wal", "-shm"] : [part] { try #require(unlink(site.cache + name) == 0) }
        #expect(try await site.sync().outcome == .unchanged)
        for name in ["", "-wal", "-shm"] { #expect(try site.mode("roster.db" + name) == 0o640) }
        try await site.expectWell()
      }
    }

    enum Pulled: CaseIterable { case whole, removed, garbage, damaged, ofAnother, folder, foreign }

    @Test(
      "2, 40: lost, damaged or foreign pulled pages cost a pull, and nothing else",
      arguments: Pulled.allCases)
    func pulled(pulled: Pulled) async throws {
      try await withSite(.pages(3)) { site in
        _ = try await site.sync()
        site.next(1)
        site.upstream.hold(.page(3))
        let broken = try site.start("sync")
        try await site.upstream.waitFor { $0.held == 1 }
        #expect(try await broken.end(by: SIGTERM).exit == 1)
        site.upstream.release()
        try await harm(pulled, in: site)
        let report = try await site.sync()
        #expect(report.outcome == .published && report.resumed == (pulled == .whole ? 2 : 0))
        #expect(try site.mode("roster.db.next") == 0o600)
        try await site.expectWell()
      }
    }

    private func harm(_ pulled: Pulled, in site: Site) async throws {
      let path = site.cache + ".next"
      switch pulled {
      case .whole: break
      case .removed: try #require(unlink(path) == 0)
      case .garbage: try site.overwrite(path, from: 0)
      case .damaged: try site.overwrite(path, from: 512)
      case .ofAnother: for part in ["", "-wal", "-shm"] { try #require(unlink(site.cache + part) == 0) }
      case .folder:
        try #require(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        try await expectInTheWay(site)
        try #require(rmdir(path) == 0)
      case .foreign:
        let diary = Data("my holiday diary".utf8)
        // Placed by a rename, so that it is a different file.
        try diary.write(to: URL(filePath: path + ".other"))
        try #require(rename(path + ".other", path) == 0)
        try await expectInTheWay(site)
        #expect(FileManager.default.contents(atPath: path) == diary)
        try #require(unlink(path) == 0)
      }
    }

    private func expectInTheWay(_ site: Site) async throws {
      let outcome = try await site.rosterd("sync")
      #expect(outcome.exit == 73 && outcome.error.contains("roster.db.next"), "\(outcome.error)")
    }
  }
}
