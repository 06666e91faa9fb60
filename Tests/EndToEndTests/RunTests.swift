import FoundationEssentials
import Glibc
import HastyRosterd
import RosterCore
import RosterSimulator
import RosterStatusClient
import RosterTestSupport
import Testing

/// `rosterd run`, the real program, as systemd, curl and rosterctl see it.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RunTests {
  @Test("49: READY is sent once the socket answers, then STATUS, and STOPPING before the exit with 0")
  func notify() async throws {
    try await withSite { site in
      site.upstream.hold(.page(1))
      try await site.withDaemon { daemon, notify in
        let status = try await site.curl("/v1/status")
        #expect(status.status == "200")
        #expect(try JSONDecoder().decode(DaemonStatus.self, from: Data(status.body.utf8)).pid == daemon.pid)
        #expect(try await site.curl("/healthz").status == "200")
        #expect(try await site.curl("/readyz").status == "503")
        site.upstream.release()
        #expect(await notify.first { $0.contains("STATUS=idle: 826 records") } != nil)
        #expect(try await site.curl("/readyz").status == "200")
        #expect(try await site.curl("/readyz?max_age=1h").status == "200")
        daemon.signal(SIGTERM)
        #expect(await notify.first { $0.contains("STOPPING=1") } != nil)
        #expect(try await daemon.end().exit == 0)
        #expect(access(site.socket, F_OK) != 0)
      }
      try await site.expectUpstream()
    }
  }

  @Test("46: a metrics socket that cannot be opened at the start is a warning, and answers when its name is free")
  func lateMetricsSocket() async throws {
    let workspace = Workspace()
    let clock = try HastyClock(file: workspace.path("clock"))
    try await withSite(Scenario.pages(1), settings: ["HASTY_CLOCK": workspace.path("clock")]) { site in
      var site = site
      site.daemon = "HastyRosterd"
      let path = "\(site.folder)/status-metrics.sock"
      try Data("mine".utf8).write(to: URL(filePath: path))
      try await site.withDaemon { [site] daemon, _ in
        let health = try await site.curl("/healthz")
        #expect(health.status == "200")
        #expect(daemon.complaints.contains("cannot serve rosterd-metrics.socket"))
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == "mine")
        unlink(path)
        let client = StatusClient(socket: path)
        while (try? await client.send("GET", target: "/healthz"))?.status != 200 { clock.advance(by: .seconds(1)) }
      }
    }
  }

  @Test("24 open files suffice if the hard limit is 32 or more; else 73, and systemd gets the reason")
  func fewOpenFiles() async throws {
    try await withSite { site in
      let path = "\(site.folder)/notify"
      let notify = try NotifySocket(path: path)
      let settings = site.settings.merging(["NOTIFY_SOCKET": path]) { $1 }
      func sync(_ limits: String) async throws -> Program.Outcome {
        let command = "\(limits) && exec '\(try Program.built("rosterd"))' sync"
        return try await Program.run("/bin/bash", arguments: ["-c", command], environment: settings)
      }
      let refused = try await sync("ulimit -n 24")
      #expect(refused.exit == 73 && refused.error.contains("the hard limit is 24, and rosterd needs at least 32"))
      #expect(!FileManager.default.fileExists(atPath: site.cache))
      notify.close()
      #expect(await notify.first { $0.contains("STATUS=") && $0.contains("RLIMIT_NOFILE") } != nil)
      let raised = try await sync("ulimit -Sn 24")
      #expect(raised.exit == 0, "\(raised.error)")
      let fewest = try await sync("ulimit -n 32")
      #expect(fewest.exit == 0, "\(fewest.error)")
    }
  }

  @Test(
    "47, 49: a start that fails reports the reason to the service manager",
    arguments: [("ROSTERD_CACHE_PATH", "/dev/null/x.db", 73), ("ROSTERD_SYNC_CONCURRENCY", "0", 78)])
  func failedStart(key: String, value: String, exit: Int32) async throws {
    try await withSite { site in
      let path = "\(site.folder)/notify"
      let notify = try NotifySocket(path: path)
      let outcome = try await site.rosterd("run", with: ["NOTIFY_SOCKET": path, key: value])
      notify.close()
      #expect(outcome.exit == exit)
      #expect(await notify.first { $0.contains("STATUS=") && $0.contains(exit == 73 ? "/dev/null" : key) } != nil)
      #expect(await notify.first { $0.contains("EXIT_STATUS=\(exit)") } != nil)
    }
  }

  @Test(
    "49: a command line that cannot be read is reported to the service manager",
    arguments: ["--nonsense", "nonsense"])
  func commandLine(argument: String) async throws {
    try await withSite { site in
      let path = "\(site.folder)/notify"
      let notify = try NotifySocket(path: path)
      let outcome = try await site.rosterd(argument, with: ["NOTIFY_SOCKET": path])
      notify.close()
      #expect(outcome.exit == 64)
      #expect(await notify.first { $0.contains("EXIT_STATUS=64") } != nil)
    }
  }

  @Test(
    "49: WATCHDOG=1 is sent only if a watchdog watches this process",
    arguments: [("unset", false), ("WATCHDOG_PID=1", false), ("", true)])
  func watchdog(environment: String, isWatched: Bool) async throws {
    var settings = ["ROSTERD_LOG_LEVEL": "info"]
    if environment != "unset" { settings["WATCHDOG_USEC"] = "200000" }
    if environment == "WATCHDOG_PID=1" { settings["WATCHDOG_PID"] = "1" }
    try await withDaemon(.pages(1), settings: settings) { site, daemon, notify in
      if isWatched {
        #expect(await notify.first { $0 == "WATCHDOG=1" } != nil)
      } else {
        #expect(await notify.first { $0.contains("STATUS=idle") || $0 == "WATCHDOG=1" } != "WATCHDOG=1")
        daemon.signal(SIGTERM)
        #expect(await notify.first { $0 == "WATCHDOG=1" } == nil)
      }
    }
  }

  @Test("49: /healthz and the message report a sync that hangs, until it makes progress again")
  func hangs() async throws {
    let settings = [
      "WATCHDOG_USEC": "400000", "ROSTERD_UPSTREAM_TIMEOUT": "1s", "ROSTERD_RETRY_MAX_DELAY": "0s",
      "ROSTERD_RETRY_MAX_RETRY_AFTER": "0s",
    ]
    try await withFaults(.pages(3), settings: settings) { site, faults in
      site.upstream.hold(.pages(2...3))
      try await site.withDaemon { _, notify in
        try await site.upstream.waitFor { $0.held == 2 }
        try faults.hang("roster.db.next-wal")
        site.upstream.release()
        await faults.hung()
        #expect(try await site.curl("/healthz").status == "200")
        #expect(await notify.first { $0.contains("STATUS=syncing") && $0.contains("nothing has moved since 2") } != nil)
        #expect(try await site.curl("/healthz").status == "503")
        #expect(try await site.status().message.contains("nothing has moved since 2"))
        await faults.goOn()
        #expect(await notify.first { $0.contains("STATUS=idle") } != nil)
        #expect(await notify.first { $0 == "WATCHDOG=1" } != nil)
        #expect(try await site.curl("/healthz").status == "200")
      }
      try await site.expectUpstream()
    }
  }

  @Test("28: a sync that /v1/syncs shows as ended is not joined")
  func notJoined() async throws {
    try await withDaemon(.pages(1)) { site, _, _ in
      let client = StatusClient(socket: site.socket)
      struct Syncs: Decodable { var syncs: [SyncRecord] }
      struct Accepted: Decodable { var sync: Int64, joined: Bool }
      for _ in 0..<200 {
        while true {
          let answer = try await client.send("GET", target: "/v1/syncs?limit=1")
          let latest = try JSONDecoder().decode(Syncs.self, from: Data(answer.body)).syncs.first
          if let latest, latest.outcome != .running { break }
        }
        let answer = try await client.send("POST", target: "/v1/sync")
        let accepted = try JSONDecoder().decode(Accepted.self, from: Data(answer.body))
        #expect(!accepted.joined, "\(accepted.sync)")
      }
    }
  }

  @Test("The status shows the running sync and the ended one, and rosterctl shows the same")
  func status() async throws {
    try await withSite { site in
      site.upstream.hold(.pages(20...42))
      try await site.withDaemon { _, _ in
        try await site.upstream.waitFor { $0.held == 8 }
        let during = try await site.status()
        #expect(during.state == .syncing && during.sync.current?.phase == .pulling)
        #expect(during.sync.current?.pagesTotal == 42 && during.sync.current?.inFlight == 8)
        #expect(during.sync.current?.pagesDone == 19 && during.cache.snapshot == nil)
        site.upstream.release()
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        let after = try await site.status()
        #expect(after.sync.last?.outcome == .published && after.cache.records == 826 && after.cache.snapshot == 1)
        let people = try await site.rosterctl("status")
        #expect(people.exit == 0 && people.output.contains("826 records"))
        let history = try await site.rosterctl("history", "--json")
        #expect(history.exit == 0 && history.output.contains("\"outcome\":\"published\""))
      }
    }
  }

  @Test("rosterctl sync --wait starts a sync and exits as it ended")
  func syncNow() async throws {
    try await withDaemon { site, _, _ in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      site.upstream.update { characters in characters[0].name = "Renamed" }
      let good = try await site.rosterctl("sync", "--wait", "--json")
      let report = try JSONDecoder().decode(SyncRecord.self, from: Data(good.output.utf8))
      #expect(good.exit == 0 && report.outcome == .published && report.changed == 1)
      try await site.expectUpstream()
      site.upstream.configure { scenario in scenario.rules = [.on(.page(3), .status(403))] }
      let bad = try await site.rosterctl("sync", "--wait")
      #expect(bad.exit == 65 && bad.output.contains("403"))
      #expect(try await site.status().state == .degraded)
    }
  }

  @Test("28: a request for a sync during a sync joins it")
  func joined() async throws {
    try await withSite { site in
      site.upstream.hold(.page(7))
      try await site.withDaemon { _, _ in
        try await site.upstream.waitFor { $0.held == 1 }
        let answer = try await site.rosterctl("sync", "--json")
        #expect(answer.output.contains(#""joined":true"#) && answer.output.contains(#""sync":1"#))
        site.upstream.release()
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      }
    }
  }

  @Test("The next sync starts an interval after the end of the last one")
  func interval() async throws {
    let times = Arrivals()
    let scenario = Scenario.pages(3, rules: [.on(.anyPage, .drift { _ in times.note() })])
    try await withDaemon(scenario, settings: ["ROSTERD_SYNC_INTERVAL": "150ms"]) { site, _, _ in
      try await site.upstream.waitFor { $0.requests(ofPage: 1).count == 4 }
    }
    // Three requests a sync, page 1 first.
    #expect((1...3).allSatisfy { times.gap(before: 3 * $0) >= .milliseconds(150) })
  }

  @Test("After a failed sync the next one starts after retry_interval, which doubles up to the interval")
  func retryInterval() async throws {
    let times = Arrivals()
    let scenario = Scenario.pages(1, rules: [.on(.anyPage, .drift { _ in times.note() }), .on(.anyPage, .status(403))])
    let settings = ["ROSTERD_SYNC_INTERVAL": "400ms", "ROSTERD_SYNC_RETRY_INTERVAL": "100ms"]
    try await withDaemon(scenario, settings: settings) { site, _, _ in
      try await site.upstream.waitFor { $0.pageRequests.count == 5 }
    }
    for (index, least) in [100, 200, 400, 400].enumerated() {
      #expect(times.gap(before: index + 1) >= .milliseconds(least))
    }
  }

  @Test("42: a second rosterd ends with 75 and names the first one's pid", arguments: ["run", "sync"])
  func owned(command: String) async throws {
    try await withDaemon { site, daemon, _ in
      let second = try await site.rosterd(command)
      #expect(second.exit == 75)
      #expect(second.error.contains("\(daemon.pid)") && second.error.contains("rosterctl sync"))
      #expect(try await site.curl("/healthz").status == "200")
    }
  }
}
