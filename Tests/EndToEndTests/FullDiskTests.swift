import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

extension CacheTrials {
  /// A file system that is full or read-only: a real one, which only root can mount.
  @Suite(.timeLimit(.minutes(2))) struct FullDiskTests {
    /// Mounts a tmpfs on the site's state while `body` runs.
    private func withDisk(_ site: Site, kibibytes: Int, body: (String) async throws -> Void) async throws {
      let folder = "\(site.folder)/state"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      guard geteuid() == 0 else { try skip("only root can mount") }
      let mounted = try await Program.run(
        try Program.tool("mount"), arguments: ["-t", "tmpfs", "-o", "size=\(kibibytes)k,mode=755", "tmpfs", folder])
      // Even root may not mount in some containers; DiskTests cover the same there with calls that fail.
      if mounted.exit != 0 { try Test.cancel("this root may not mount: \(mounted.error)") }
      do { try await body(folder) } catch {
        try await unmount(folder)
        throw error
      }
      try await unmount(folder)
    }

    private func unmount(_ folder: String) async throws {
      _ = try await Program.run(try Program.tool("umount"), arguments: ["--lazy", folder])
    }

    /// Fills the disk to the last byte.
    private func fill(_ folder: String) throws {
      let file = open("\(folder)/ballast", O_WRONLY | O_CREAT | O_APPEND, 0o600)
      try #require(file >= 0)
      defer { close(file) }
      for size in [1 << 16, 1 << 12, 1] {
        let block = [UInt8](repeating: 1, count: size)
        while write(file, block, size) > 0 {}
      }
    }

    private func free(_ folder: String) throws { try #require(unlink("\(folder)/ballast") == 0) }

    @Test("2: with a full disk a running daemon is 73 and degraded and keeps the snapshot; with space it recovers")
    func running() async throws {
      try await withSite(.pages(20)) { site in
        try await withDisk(site, kibibytes: 8 << 10) { folder in
          try await site.withDaemon { daemon, _ in
            _ = try await site.ask()
            let before = try await site.snapshot()
            try fill(folder)
            site.next(1)
            for _ in 1...2 {
              let said = try await site.ask(exit: 73)
              #expect(said.contains("the disk is full; make room"), "\(said)")
              #expect(try await site.status().state == .degraded)
              #expect(try await site.snapshot() == before)
            }
            try free(folder)
            _ = try await site.ask()
            #expect(try await site.status().state == .idle)
            try await site.expectWell()
            #expect(try await daemon.end(by: SIGTERM).exit == 0)
          }
        }
      }
    }

    @Test("1: with too little disk space for a publish the old snapshot or the new one is whole, at each size")
    func anySize() async throws {
      try await withSite(.pages(20)) { site in
        var (failed, published) = (0, 0)
        for kibibytes in stride(from: 100, through: 4_500, by: 400) {
          try await withDisk(site, kibibytes: kibibytes) { _ in
            site.next(1)
            guard try await ends(site) == 0 else {
              failed += 1
              return
            }
            site.next(2)
            if try await ends(site) == 0 { published += 1 } else { failed += 1 }
            let version = try await site.rows("SELECT DISTINCT substr(name, instr(name, '·v') + 2) FROM characters")
            #expect(version.count == 1, "\(kibibytes) KiB: \(version)")
            #expect(try await site.rows("PRAGMA integrity_check") == [["ok"]])
          }
        }
        #expect(failed > 2 && published > 2, "\(failed) failed, \(published) published")
      }
    }

    /// Runs one sync. It may fail only with 73 and a sentence that contains the advice.
    private func ends(_ site: Site) async throws -> Int32 {
      let outcome = try await site.rosterd("sync")
      if outcome.exit == 0 { return 0 }
      #expect(outcome.exit == 73 && outcome.error.contains("make room"), "\(outcome.error)")
      return outcome.exit
    }

    @Test("31: with a full disk a rotated token stays in memory; the next sync stores it without a refresh")
    func token() async throws {
      let scenario = Scenario.pages(3, tokens: .init(flow: .authenticateForm, uses: [1]))
      try await withSite(scenario) { site in
        try await withDisk(site, kibibytes: 4 << 10) { folder in
          site.upstream.hold(.anyToken)
          try await site.withDaemon { _, _ in
            try await site.upstream.waitFor { $0.held == 1 }
            try fill(folder)
            site.upstream.release()
            // The request joins the first sync, or that sync is over.
            for _ in 1...2 {
              let said = try await site.ask(exit: 73)
              #expect(said.contains("No space left") || said.contains("the disk is full"), "\(said)")
            }
            let counts = site.upstream.counts
            #expect(counts.tokenRequests.count == 1 && !counts.pageRequests.contains { $0.generation == 1 })
            try free(folder)
            _ = try await site.ask()
            #expect(try await site.status().state == .idle)
          }
          #expect(site.upstream.counts.tokenRequests.count == 1 && site.upstream.counts.reuses == 0)
          #expect(try site.mode("token.json") == 0o600)
          try await site.expectWell()
        }
      }
    }

    @Test("31: rosterd sync sends no refresh token with a full disk, also if the last request had no answer")
    func unanswered() async throws {
      try await withSite(.pages(3, tokens: .init(flow: .authenticateForm, uses: [1]))) { site in
        var site = site
        site.settings["ROSTERD_CACHE_PATH"] = "\(site.folder)/roster.db"
        try await withDisk(site, kibibytes: 1 << 10) { folder in
          site.upstream.hold(.anyToken)
          let killed = try site.start("sync")
          try await site.upstream.waitFor { $0.held == 1 }
          _ = try await killed.end(by: SIGKILL)
          site.upstream.release()
          try fill(folder)
          let full = try await site.rosterd("sync")
          #expect(full.exit == 73, "\(full.error)")
          #expect(site.upstream.counts.tokenRequests.count == 1)
        }
      }
    }

    @Test("A read-only file system is 73 with a hint at the start, and the snapshot stays readable")
    func readOnly() async throws {
      try await withSite(.pages(3)) { site in
        try await withDisk(site, kibibytes: 4 << 10) { folder in
          _ = try await site.sync()
          try await remount(folder, mode: "ro")
          for command in ["sync", "run"] {
            let outcome = try await site.rosterd(command)
            #expect(outcome.exit == 73 && outcome.error.contains("read-only"), "\(outcome.error)")
          }
          #expect(try await site.rows("SELECT count(*) FROM characters") == [["60"]])
          try await remount(folder, mode: "rw")
          #expect(try await site.sync().exit == 0)
          try await site.expectWell()
        }
      }
    }

    private func remount(_ folder: String, mode: String) async throws {
      let outcome = try await Program.run(try Program.tool("mount"), arguments: ["-o", "remount,\(mode)", folder])
      try #require(outcome.exit == 0, "\(outcome.error)")
    }
  }
}
