import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterStatusClient
import RosterTestSupport
import Testing

/// SIGHUP to the real program, which reads its configuration from a file.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ReloadTests {
  @Test("54: SIGHUP applies interval, concurrency, headers and log level at once, without a restart")
  func applies() async throws {
    try await withDaemon(.pages(12), file: "[sync]\nconcurrency = 2\n") { site, daemon, notify in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      #expect(site.upstream.counts.peakInFlight <= 2)
      let before = try await site.status()
      let debug = daemon.complaints.contains(" debug ")
      #expect(!debug)
      let first = site.upstream.counts.pageRequests.count
      site.upstream.hold(.pages(2...12))

      try await site.reload(
        """
        [sync]
        interval = "200ms"
        concurrency = 6
        [upstream]
        headers = {"X-Team" = "citadel"}
        [log]
        level = "debug"
        """, daemon: daemon, notify: notify)
      let after = try await site.status()
      #expect(after.pid == before.pid && after.startedAt == before.startedAt)
      #expect(after.config.loadedAt > before.config.loadedAt && after.config.lastError == nil)

      // The interval counts from the end of the last sync, so the next one starts at once.
      try await site.upstream.waitFor { $0.held == 6 }
      let asked = site.upstream.counts.pageRequests.dropFirst(first)
      #expect(asked.allSatisfy { $0["X-Team"] == "citadel" })
      site.upstream.release()
      #expect(await notify.first { $0.contains("STATUS=idle") } != nil)
      #expect(daemon.complaints.contains(" debug "))
    }
  }

  @Test("54: SIGHUP during a sync loses nothing, and the sync's next request has the new settings")
  func inMidSync() async throws {
    try await withSite(.pages(20)) { site in
      site.upstream.hold(.pages(5...20))
      try await site.withFile("[sync]\nconcurrency = 4\n") { daemon, notify in
        try await site.upstream.waitFor { $0.held == 4 }
        let before = site.upstream.counts.pageRequests.count
        try await site.reload(
          """
          [sync]
          concurrency = 7
          [upstream]
          timeout = "20s"
          headers = {"X-Team" = "citadel"}
          """, daemon: daemon, notify: notify)
        let during = try await site.status()
        #expect(during.state == .syncing && during.sync.current?.id == 1 && during.sync.current?.pagesDone == 4)
        site.upstream.release(.pages(5...8))
        try await site.upstream.waitFor { $0.held == 7 }
        #expect(site.upstream.counts.pageRequests.prefix(before).allSatisfy { $0["X-Team"] == nil })
        #expect(site.upstream.counts.pageRequests.dropFirst(before).allSatisfy { $0["X-Team"] == "citadel" })

        try await site.reload("[sync]\nconcurrency = 2\n", daemon: daemon, notify: notify)
        site.upstream.release()
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        let ended = try await site.status()
        #expect(ended.sync.last?.id == 1 && ended.sync.last?.outcome == .published && ended.sync.last?.requests == 20)
        #expect(ended.sync.last?.retries == 0 && site.upstream.counts.peakInFlight == 7)
        try await site.expectUpstream()
      }
    }
  }

  @Test("54: SIGHUP during a sync changes its retries and its removal guard")
  func limitsInMidSync() async throws {
    try await withSite(.pages(5)) { site in
      try await site.withFile("[sync]\nmax_removal = 0\n[retry]\nmax_retries = 20\nbase_delay = \"0s\"\n") {
        daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        site.upstream.update { $0.removeLast() }
        site.upstream.hold(.page(2))
        _ = try await site.rosterctl("sync")
        try await site.upstream.waitFor { $0.held == 1 }
        try await site.reload("[sync]\nmax_removal = 50\n", daemon: daemon, notify: notify)
        site.upstream.release()
        #expect(await notify.first { $0.contains("STATUS=idle") } != nil)
        #expect(try await site.status().sync.last?.removed == 1)

        try await site.reload("[retry]\nmax_retries = 20\nbase_delay = \"0s\"\n", daemon: daemon, notify: notify)
        site.upstream.configure { $0.rules = [.on(.page(3), .status(503))] }
        site.upstream.hold(.page(3))
        _ = try await site.rosterctl("sync")
        try await site.upstream.waitFor { $0.held == 1 }
        try await site.reload("[retry]\nmax_retries = 1\nbase_delay = \"0s\"\n", daemon: daemon, notify: notify)
        let before = site.upstream.counts.requests(ofPage: 3).count
        site.upstream.release()
        #expect(await notify.first { $0.contains("STATUS=degraded") } != nil)
        #expect(site.upstream.counts.requests(ofPage: 3).count == before + 1)
      }
    }
  }

  @Test("54: SIGHUP without the configuration file is refused, and does not apply the defaults")
  func missingFile() async throws {
    try await withSite(.pages(1)) { site in
      try await site.withFile("[upstream]\nheaders = {\"X-Team\" = \"citadel\"}\n") { daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        try site.removeFile()
        try await reload(daemon, notify: notify)
        #expect(try await site.status().config.lastError?.contains("cannot be read") == true)
        let check = try await site.rosterctl("status", "--check")
        #expect(check.exit == 1 && check.output.contains("; refused: "))
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        #expect(site.upstream.counts.pageRequests.last?["X-Team"] == "citadel")
      }
    }
  }

  @Test("54: SIGHUP applies a new default file and names it in status; a file that disappeared is reported")
  func appears() async throws {
    try await withSite(.pages(1)) { site in
      let folder = "\(site.folder)/etc"
      try await site.withDaemon { daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        #expect(try await site.status().config.path == nil)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data("[upstream]\nheaders = {\"X-Team\" = \"citadel\"}\n".utf8).write(
          to: URL(filePath: "\(folder)/rosterd.toml"))
        try await reload(daemon, notify: notify)
        #expect(try await site.status().config.path == "\(folder)/rosterd.toml")
        try FileManager.default.removeItem(atPath: folder)
        try await reload(daemon, notify: notify)
        let status = try await site.status()
        #expect(status.config.path == "\(folder)/rosterd.toml")
        #expect(status.config.lastError?.contains("cannot be read") == true)
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        #expect(site.upstream.counts.pageRequests.last?["X-Team"] == "citadel")
      }
    }
  }

  @Test("54: SIGHUP before the daemon can reload is remembered until it can")
  func early() async throws {
    try await withSite(.pages(1)) { site in
      // A named pipe is read only below /dev.
      let file = "/dev/shm/rosterd-\(UInt32.random(in: 0 ... .max)).toml"
      try #require(mkfifo(file, 0o600) == 0)
      defer { unlink(file) }
      try await site.withDaemon(["run", "--config", file]) { daemon in
        // The call returns as soon as the daemon opens the other side, to read its configuration.
        let pipe = open(file, O_WRONLY)
        try Data("[upstream]\nheaders = {\"X-Team\" = \"citadel\"}\n".utf8).write(
          to: URL(filePath: file), options: .atomic)
        daemon.signal(SIGHUP)
        close(pipe)
      } body: { _, notify in
        try await reloaded(notify)
        #expect(try await site.status().config.lastError == nil)
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        #expect(site.upstream.counts.pageRequests.last?["X-Team"] == "citadel")
      }
    }
  }

  @Test("54: SIGHUP leaves no thread and no descriptor behind, also during a sync")
  func leavesNothing() async throws {
    try await withDaemon(.pages(8), file: "") { site, daemon, notify in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      func owned() throws -> [Int] {
        let files = try openFiles(of: "\(daemon.pid)", besides: "socket:[").values.reduce(0, +)
        return [files, try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/task").count]
      }
      try await site.reload("", daemon: daemon, notify: notify)
      let idle = try owned()
      site.upstream.hold(.pages(3...8))
      for isSyncing in [false, true] {
        if isSyncing {
          _ = try await site.rosterctl("sync")
          try await site.upstream.waitFor { $0.held == 6 }
        }
        for number in 1...20 {
          try await site.reload("[upstream]\ntimeout = \"\(20 + number)s\"\n", daemon: daemon, notify: notify)
        }
        // The requests of a running sync keep their old transport. Dispatch's own threads vary.
        let (files, threads) = (try owned()[0], try owned()[1])
        #expect(files <= idle[0] + (isSyncing ? 8 : 2) && threads <= idle[1] + 8, "\(files) \(threads), \(idle)")
      }
      site.upstream.release()
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
    }
  }

  @Test(
    "54: SIGHUP with a bad file changes nothing, also during a sync, and log, status and event report it",
    arguments: [
      ("[sync\n", "rosterd.toml:1"), ("[sync]\nconcurrency = 100\n", "sync.concurrency"),
      ("[sync]\nconcurency = 3\n", "concurency"), ("[auth]\nflow = \"oauth2_refresh\"\n", "token_url"),
      ("[upstream.tls]\nca_file = \"/nowhere/ca.pem\"\n", "ca_file"),
    ])
  func refused(text: String, named: String) async throws {
    try await withSite(.pages(12)) { site in
      site.upstream.hold(.pages(5...12))
      try await site.withFile("[sync]\nconcurrency = 4\ninterval = \"30m\"\n") { daemon, notify in
        try await site.upstream.waitFor { $0.held == 4 }
        let before = try await site.status()
        try await site.reload(text, daemon: daemon, notify: notify)
        let after = try await site.status()
        #expect(after.config.lastError?.contains(named) == true, "\(after.config.lastError ?? "nothing")")
        #expect(after.config.loadedAt == before.config.loadedAt && after.state == .syncing)
        #expect(daemon.complaints.contains("the new configuration is refused") && daemon.complaints.contains(named))

        // The cause is corrected: the error is gone, and nothing else has changed.
        try await site.reload("[sync]\nconcurrency = 4\ninterval = \"30m\"\n", daemon: daemon, notify: notify)
        #expect(try await site.status().config.lastError == nil)
        site.upstream.release()
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        #expect(site.upstream.counts.peakInFlight == 4 && site.upstream.counts.pageRequests.count == 12)
        let told = try await site.events(through: "config.reloaded")
        #expect(told.contains { $0.name == "config.refused" && $0.data.contains(named) })
      }
    }
  }

  @Test("54: SIGHUP keeps keys that need a restart, names them in log and event, and applies the others")
  func needRestart() async throws {
    try await withDaemon(.pages(3), file: "") { site, daemon, notify in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      try await site.reload(
        """
        [cache]
        path = "\(site.folder)/other.db"
        [status]
        socket = "\(site.folder)/other.sock"
        [auth]
        token_store = "\(site.folder)/other.json"
        [log]
        level = "debug"
        """, daemon: daemon, notify: notify)
      let log = daemon.complaints
      for key in ["cache.path", "status.socket", "auth.token_store"] {
        #expect(log.split(separator: "\n").contains { $0.contains("reloaded") && $0.contains(key) }, "\(key)")
      }
      let after = try await site.status()
      #expect(after.cache.path == site.cache && after.config.lastError == nil)
      #expect(access("\(site.folder)/other.sock", F_OK) != 0 && access("\(site.folder)/other.db", F_OK) != 0)
      _ = try await site.rosterctl("sync", "--wait")
      #expect(daemon.complaints.contains(" debug "))
      let told = try await site.events(through: "config.reloaded").last?.data
      #expect(told?.contains("cache.path") == true && told?.contains("auth.token_store") == true)
    }
  }

  @Test("54: SIGHUP with a flow without its credential is refused completely")
  func flowWithoutCredential() async throws {
    try await withDaemon(.pages(3), file: "") { site, daemon, notify in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      try await site.reload(
        """
        [auth]
        flow = "oauth2_refresh"
        token_url = "/token"
        [upstream]
        headers = {"X-Team" = "citadel"}
        """, daemon: daemon, notify: notify)
      let after = try await site.status()
      #expect(after.config.lastError?.contains("refresh_token") == true && after.token.flow == "none")
      #expect(try await site.rosterctl("sync", "--wait").exit == 0)
      #expect(site.upstream.counts.pageRequests.allSatisfy { $0["X-Team"] == nil && $0["Authorization"] == nil })
    }
  }

  @Test("48, 54: SIGHUP applies log.format to the lines that follow")
  func logFormat() async throws {
    try await withDaemon(.pages(1), file: "[log]\nformat = \"text\"\n") { site, daemon, notify in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      try await site.reload("[log]\nformat = \"json\"\n", daemon: daemon, notify: notify)
      #expect(try await site.rosterctl("sync", "--wait").exit == 0)
      let lines = daemon.complaints.split(separator: "\n")
      #expect(lines.first?.hasPrefix("{") == false && lines.last?.hasPrefix("{") == true, "\(lines)")
    }
  }

  @Test("42: a reload to a flow that needs the token store owns it first; another rosterd's store is refused")
  func tokenStore() async throws {
    try await withDaemon(.pages(1, tokens: .init(flow: .oauth2Refresh)), file: "") { site, daemon, notify in
      let other = open(site.tokenStore + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      defer { close(other) }
      try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
      let text = "[auth]\nflow = \"oauth2_refresh\"\ntoken_url = \"/token\"\n"
      try await site.reload(text, daemon: daemon, notify: notify)
      let refused = try await site.status()
      #expect(refused.config.lastError?.contains(site.tokenStore) == true && refused.token.flow == "none")
      // The lock is released without a close, because a program that another test starts may have the file open for a
      // moment.
      try #require(flock(other, LOCK_UN) == 0)
      try await site.reload(text, daemon: daemon, notify: notify)
      #expect(try await site.status().token.flow == "oauth2_refresh")
      #expect(flock(other, LOCK_EX | LOCK_NB) != 0)
    }
  }

  @Test("31, 32: SIGHUP that removes the flow during a token request waits for the answer, and loses no session")
  func flowOffAndOn() async throws {
    let on = "[auth]\nflow = \"oauth2_refresh\"\ntoken_url = \"/token\"\n"
    try await withSite(.pages(2, tokens: .init(flow: .oauth2Refresh, uses: [1]))) { site in
      site.upstream.hold(.anyToken)
      try await site.withFile(on) { daemon, notify in
        try await site.upstream.waitFor { $0.tokenRequests.count == 1 }
        try await site.reload("", daemon: daemon, notify: notify) { site.upstream.release() }
        #expect(site.upstream.counts.tokensGranted == 1)
        // The running sync may end with its token. Upstream requires one in the next sync too, and the flow sends none.
        _ = try await site.rosterctl("sync", "--wait")
        #expect(try await site.rosterctl("sync", "--wait").exit == 77)
        try await site.reload(on, daemon: daemon, notify: notify)
        let after = try await site.rosterctl("sync", "--wait")
        #expect(after.exit == 0, "\(after.error)")
      }
      #expect(site.upstream.counts.tokenRequests.count == 1 && site.upstream.counts.reuses == 0)
    }
  }

  @Test("35: SIGHUP looks at the credential files, and an ended session goes on with new ones")
  func newCredentials() async throws {
    try await withSite(.pages(3, tokens: .init(flow: .oauth2Refresh))) { site in
      try await site.withFile("[auth]\nflow = \"oauth2_refresh\"\ntoken_url = \"/token\"\n") { daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        site.upstream.endSession()
        site.upstream.killAccessTokens()
        #expect(try await site.rosterctl("sync", "--wait").exit == 77)
        #expect(try await site.status().state == .unauthorized)
        let requests = site.upstream.counts.pageRequests.count + site.upstream.counts.tokenRequests.count
        // The bytes are the same, so nothing has changed.
        try await reload(daemon, notify: notify)
        #expect(try await site.status().token.state == .unauthorized)
        #expect(try await site.rosterctl("sync", "--wait").exit == 77)
        #expect(site.upstream.counts.pageRequests.count + site.upstream.counts.tokenRequests.count == requests)

        try site.write(site.upstream.newSession().files)
        try await reload(daemon, notify: notify)
        #expect(try await site.status().token.state != .unauthorized)
        // After the correction, the user need not request a sync.
        _ = await notify.first { $0.contains("STATUS=idle") }
        #expect(try await site.status().state == .idle)
      }
    }
  }

  @Test("35: a refused static token is replaced at once when a reload brings another one")
  func newStaticToken() async throws {
    try await withSite(.pages(3, tokens: .init(flow: .static))) { site in
      try await site.withFile("[auth]\nflow = \"static\"\n") { daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        site.upstream.endSession()
        site.upstream.killAccessTokens()
        #expect(try await site.rosterctl("sync", "--wait").exit == 77)
        #expect(try await site.status().state == .unauthorized)

        try site.write(site.upstream.newSession().files)
        try await reload(daemon, notify: notify)
        _ = await notify.first { $0.contains("STATUS=idle") }
        #expect(try await site.status().state == .idle)
      }
    }
  }
}
