import FoundationEssentials
import Glibc
import RosterCore
import RosterStatus
import RosterTestSupport
import Testing

/// The real rosterctl with a real status socket. The test provides the state that the socket serves.
@Suite struct RosterctlTests {
  private let board = StatusBoard(
    pid: 1, startedAt: Date(), baseURL: "http://localhost/api", cachePath: "/nowhere/roster.db",
    config: DaemonStatus.Config(path: nil, loadedAt: Date().rfc3339), flow: "none", clock: .system)

  private func withDaemon(
    syncs: [SyncRecord] = [report(17, outcome: .published)],
    sync: @escaping @Sendable (SyncRequest) async throws -> SyncRequest.Accepted = { _ in
      SyncRequest.Accepted(sync: 18, joined: false)
    },
    _ body: (_ rosterctl: ([String]) async throws -> Program.Outcome, _ socket: String) async throws -> Void
  ) async throws {
    let folder = "/tmp/rosterctl-\(UInt32.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let socket = folder + "/status.sock"
    let routes = StatusRoutes(
      board: board, history: { _ in syncs }, sync: sync, feed: { _ in .page(json: [], isEmpty: true) },
      cancel: { nil })
    let server = StatusServer(at: .path(socket, mode: 0o666), routes: routes)
    try await server.start()
    do {
      let program = try Program.built("rosterctl")
      try await body(
        { try await Program.run(program, arguments: $0, environment: ["ROSTERD_STATUS_SOCKET": socket]) }, socket)
      await server.stop()
    } catch {
      await server.stop()
      throw error
    }
  }

  private static func report(_ id: Int64, outcome: SyncRecord.Outcome) -> SyncRecord {
    var report = SyncRecord(id: id, startedAt: "2026-01-01T00:00:00.000Z", outcome: outcome)
    report.finishedAt = "2026-01-01T00:00:00.500Z"
    report.exit = outcome == .failed ? 65 : 0
    return report
  }

  @Test("rosterctl status prints for people, and with --json the answer of /v1/status")
  func status() async throws {
    try await withDaemon { rosterctl, _ in
      let people = try await rosterctl(["status"])
      #expect(people.exit == 0 && people.output.hasPrefix("◐ starting: no sync has ended yet\n"))
      let json = try await rosterctl(["status", "--json"])
      let status = try JSONDecoder().decode(DaemonStatus.self, from: Data(json.output.utf8))
      #expect(json.exit == 0 && status.startedAt == board.status().startedAt)
    }
  }

  @Test(
    "rosterctl sync --wait exits as its own sync ended, also if another one has ended since", .timeLimit(.minutes(1)))
  func overtaken() async throws {
    try await withDaemon(syncs: [Self.report(19, outcome: .published), Self.report(18, outcome: .failed)]) {
      rosterctl, _ in
      board.syncEnded(Self.report(19, outcome: .published), cache: nil)
      let outcome = try await rosterctl(["sync", "--wait"])
      #expect(outcome.exit == 65 && outcome.output.hasPrefix("sync 18 failed"), "\(outcome.output)\(outcome.error)")
    }
  }

  @Test("rosterctl prefers --socket to the environment, and ends with 3 if no daemon answers")
  func noDaemon() async throws {
    try await withDaemon { rosterctl, socket in
      let outcome = try await rosterctl(["status", "--socket", socket + ".other"])
      #expect(outcome.exit == 3 && outcome.output.isEmpty)
      #expect(outcome.error.hasPrefix("rosterctl: cannot ask the daemon (\(socket).other): no daemon answers"))
    }
  }

  @Test(
    "A bad command line of rosterctl is 64",
    arguments: [["statos"], ["status", "--jsno"], ["history", "--limit", "0"]])
  func usage(arguments: [String]) async throws {
    let outcome = try await Program.run(try Program.built("rosterctl"), arguments: arguments)
    #expect(outcome.exit == 64 && !outcome.error.isEmpty)
  }

  /// Runs rosterctl as a user without permission for the socket.
  private func strangersRosterctl(_ socket: String) async throws -> ([String]) async throws -> Program.Outcome {
    let stranger = try Stranger.prefix()
    let folder = String(socket.dropLast("/status.sock".count))
    let copy = folder + "/rosterctl"
    try await Stranger.copyRosterctl(to: copy)
    for path in [folder, copy] { chmod(path, 0o755) }
    return { try await Program.run(stranger[0], arguments: stranger.dropFirst() + [copy] + $0 + ["--socket", socket]) }
  }

  @Test("rosterctl: a socket of another user is 77, and the message has the group's name")
  func forbidden() async throws {
    try await withDaemon { _, socket in
      let rosterctl = try await strangersRosterctl(socket)
      func refusal(_ command: [String]) async throws -> String {
        let outcome = try await rosterctl(command)
        #expect(outcome.exit == 77 && outcome.output.isEmpty)
        return outcome.error
      }
      let refused = "rosterctl: cannot ask the daemon (\(socket)): Permission denied; "
      chmod(socket, 0o600)
      for command in [["status"], ["watch"], ["events"], ["sync", "--wait"], ["wait", "--timeout", "5s"]] {
        #expect(try await refusal(command) == refused + "only root may use it\n")
      }
      // Users must not be advised to become members of root's group.
      chmod(socket, 0o660)
      #expect(try await refusal(["status"]) == refused + "only root may use it\n")
      let daemonGroup: gid_t = 1  // Debian's "daemon"
      chown(socket, Stranger.owner, daemonGroup)
      let hint = "it is for the group daemon: `sudo adduser USER daemon` lets you in from the next login on\n"
      #expect(try await refusal(["status"]) == refused + hint)
      // The cache is the group's to read, too.
      let cache = socket + ".db"
      try Data(repeating: 1, count: 100).write(to: URL(filePath: cache))
      chmod(cache, 0o640)
      chown(cache, Stranger.owner, daemonGroup)
      let list = try await rosterctl(["list", "--cache", cache])
      #expect(list.exit == 73 && list.error.contains("(\(cache)): Permission denied; \(hint)"), "\(list.error)")
      chmod(socket, 0o600)
      #expect(try await refusal(["status"]) == refused + "only root and \(Stranger.owner) may use it\n")
    }
  }

  @Test("rosterctl sync: a refused request says who may ask")
  func refusedSync() async throws {
    try await withDaemon { _, socket in
      let outcome = try await strangersRosterctl(socket)(["sync", "--wait"])
      #expect(outcome.exit == 77 && outcome.output.isEmpty)
      #expect(
        outcome.error == """
          rosterctl: cannot ask for a sync (the daemon): only root and the daemon's own user may ask for a sync; \
          try `sudo rosterctl sync`

          """)
    }
  }

  @Test(
    "rosterctl status --check prints the headline and exits by the state",
    arguments: [(nil, 1), (.published, 0), (.failed, 1)] as [(SyncRecord.Outcome?, Int32)])
  func check(outcome: SyncRecord.Outcome?, exit: Int32) async throws {
    try await withDaemon { rosterctl, _ in
      if let outcome { board.syncEnded(Self.report(17, outcome: outcome), cache: CacheFacts(snapshot: 1)) }
      let check = try await rosterctl(["status", "--check"])
      #expect(check.exit == exit && check.error.isEmpty)
      let status = try await rosterctl(["status"])
      #expect(status.exit == 0 && check.output.split(separator: "\n").count == 1)
      #expect(status.output.hasPrefix(check.output))
      let json = try await rosterctl(["status", "--check", "--json"])
      #expect(json.exit == exit && json.output.hasPrefix("{"))
    }
  }

  @Test("rosterctl status --check is 0 for a running sync whatever the last one was, and 1 for a stopping daemon")
  func checkSyncing() async throws {
    try await withDaemon { rosterctl, _ in
      board.syncEnded(Self.report(17, outcome: .failed), cache: nil)
      board.syncBegan(SyncRecord(id: 18, startedAt: Date().rfc3339), tally: Tally())
      let syncing = try await rosterctl(["status", "--check"])
      #expect(syncing.exit == 0 && syncing.output.hasPrefix("◐ syncing: "), "\(syncing.output)")
      board.report(Event(.daemonStopping))
      let stopping = try await rosterctl(["status", "--check"])
      #expect(stopping.exit == 1 && stopping.output.contains("stopping"), "\(stopping.output)")
    }
  }

  @Test("rosterctl status --check is 77 for refused credentials")
  func checkUnauthorized() async throws {
    try await withDaemon { rosterctl, _ in
      var report = Self.report(17, outcome: .failed)
      report.exit = 77
      board.syncEnded(report, cache: nil)
      let check = try await rosterctl(["status", "--check"])
      #expect(check.exit == 77 && check.output.hasPrefix("✗ unauthorized: "))
    }
  }

  @Test(
    "A mistyped command is answered with the nearest",
    arguments: [
      ("rosterctl", "statsu", "status"), ("rosterctl", "charcters", "characters"), ("rosterd", "snyc", "sync"),
    ])
  func nearest(program: String, typed: String, meant: String) async throws {
    let outcome = try await Program.run(try Program.built(program), arguments: [typed])
    #expect(outcome.exit == 64 && outcome.output.isEmpty)
    #expect(outcome.error.hasPrefix("Error: There is no command '\(typed)'; did you mean '\(meant)'?\n"))
  }

  @Test(
    "--help of every command fits 24 lines of 80, and each of rosterctl names the options for a daemon",
    arguments: ["rosterctl", "rosterd"])
  func help(program: String) async throws {
    let commands = try await CommandTree.commands(of: program).map(\.commandName)
    try #require(commands.count > 4)
    for command in [nil] + commands {
      let help = try await Program.run(
        try Program.built(program), arguments: [command, "--help"].compactMap(\.self), environment: ["COLUMNS": "80"])
      let lines = help.output.split(separator: "\n", omittingEmptySubsequences: false)
      let rows = lines.reduce(0) { $0 + max(1, ($1.count + 79) / 80) }
      #expect(help.exit == 0 && rows <= 24, "\(help.output)")
      guard program == "rosterctl", command != nil else { continue }
      for option in ["--socket", "--cache", "--instance", "--config"] {
        #expect(help.output.contains(option), "\(help.output)")
      }
    }
  }

  @Test("50: a command that needs the cache asks the daemon of --socket for it")
  func cacheOfDaemon() async throws {
    try await withDaemon { _, socket in
      for command in [["list"], ["rejects"], ["changes"]] {
        let outcome = try await Program.run(try Program.built("rosterctl"), arguments: command + ["--socket", socket])
        #expect(outcome.exit == 73 && outcome.error.contains("(/nowhere/roster.db)"), "\(outcome.error)")
      }
      let cache = ["--cache", "/nowhere/roster.db"]
      let rosterctl = try Program.built("rosterctl")
      let found = try await Program.run(
        rosterctl, arguments: ["sync"] + cache, environment: ["ROSTERD_STATUS_SOCKET": socket])
      #expect(found.exit == 0 && found.output == "sync 18 started\n", "\(found.error)")
      let other = try await Program.run(
        rosterctl, arguments: ["sync", "--cache", "/nowhere/other.db"], environment: ["ROSTERD_STATUS_SOCKET": socket])
      #expect(other.exit == 64 && other.error.contains("add --socket FILE"), "\(other.error)")
    }
  }

  @Test("50: if one place does not determine the other, rosterctl says which option to add")
  func unknownPlaces() async throws {
    try await withFolder { folder in
      let environment = ["XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder, "HOME": folder]
      for (words, exit, option) in [
        (["list", "--socket", folder + "/none.sock"], 64, "add --cache FILE"),
        (["sync", "--cache", folder + "/none.db"], 64, "add --socket FILE"),
        (["status", "--socket", folder + "/none.sock"], 3, "add --cache FILE"),
        (["explain", "--cache", folder + "/none.db"], 3, "add --socket FILE"),
      ] as [([String], Int32, String)] {
        let outcome = try await Program.run(try Program.built("rosterctl"), arguments: words, environment: environment)
        #expect(outcome.exit == exit && outcome.error.contains(option), "\(words): \(outcome.error)")
      }
    }
  }

  @Test("50: --config determines both places; a missing file is 78")
  func configuration() async throws {
    try await withFolder { folder in
      let file = folder + "/own.toml"
      let text = "[status]\nsocket = \"\(folder)/s.sock\"\n[cache]\npath = \"\(folder)/r.db\"\n"
      try Data(text.utf8).write(to: URL(filePath: file))
      let rosterctl = try Program.built("rosterctl")
      let both = ["ROSTERD_STATUS_SOCKET": "/nowhere/s.sock", "ROSTERD_CACHE_PATH": "/nowhere/r.db"]
      let sync = try await Program.run(rosterctl, arguments: ["--config", file, "sync"], environment: both)
      #expect(sync.exit == 3 && sync.error.contains("(\(folder)/s.sock)"), "\(sync.error)")
      let list = try await Program.run(rosterctl, arguments: ["list", "--config", file], environment: both)
      #expect(list.exit == 73 && list.error.contains("(\(folder)/r.db)"), "\(list.error)")
      for place in [["--config", folder + "/none.toml"], ["--instance", "there-is-no-such-instance"]] {
        let missing = try await Program.run(rosterctl, arguments: ["status"] + place)
        #expect(missing.exit == 78 && missing.error.contains("No such file"), "\(missing.error)")
      }
    }
  }

  @Test(
    "50: --instance and --config determine both places, so another option beside them is 64",
    arguments: [
      ["--instance", "stage", "--socket", "/s"], ["--config", "/c", "--cache", "/d"],
      ["--instance", "stage", "--config", "/c"], ["--instance", "../etc"], ["--instance", ""],
    ])
  func contradictions(places: [String]) async throws {
    for words in [places + ["status"], ["list"] + places] {
      let outcome = try await Program.run(try Program.built("rosterctl"), arguments: words)
      #expect(outcome.exit == 64 && outcome.output.isEmpty, "\(outcome.error)")
    }
  }

  @Test("rosterctl accepts both places for every command")
  func bothPlaces() async throws {
    try await withDaemon { rosterctl, socket in
      let places = ["--socket", socket, "--cache", "/nowhere/roster.db"]
      for (words, exit) in [
        (places + ["status"], 0), (["history"] + places, 0), (["characters", "rick"] + places, 73),
        (places + ["list"], 73), (["show", "issue", "1"] + places, 73),
      ]
        as [([String], Int32)]
      {
        let outcome = try await rosterctl(words)
        #expect(outcome.exit == exit, "\(words)")
      }
    }
  }

  @Test(
    "50: --socket and --cache of different daemons are 64", .timeLimit(.minutes(1)),
    arguments: ["status", "list", "explain", "sync", "wait"])
  func differentDaemons(command: String) async throws {
    try await withDaemon { rosterctl, socket in
      let outcome = try await rosterctl([command, "--socket", socket, "--cache", "/nowhere/other.db"])
      #expect(outcome.exit == 64 && outcome.output.isEmpty, "\(outcome.output)")
      #expect(outcome.error.contains("the daemon of \(socket) has the cache /nowhere/roster.db"), "\(outcome.error)")
    }
  }

  @Test("rosterctl accepts --socket before and after the command", arguments: [true, false])
  func optionFirst(first: Bool) async throws {
    let socket = ["--socket", "/nonexistent/status.sock"]
    let arguments = first ? socket + ["status"] : ["status"] + socket
    #expect(try await Program.run(try Program.built("rosterctl"), arguments: arguments).exit == 3)
  }

  @Test("rosterctl --version names the version")
  func version() async throws {
    let outcome = try await Program.run(try Program.built("rosterctl"), arguments: ["--version"])
    #expect(outcome.exit == 0 && outcome.output == rosterdVersion + "\n")
  }

  @Test("rosterctl history lists the syncs")
  func history() async throws {
    try await withDaemon { rosterctl, _ in
      let list = try await rosterctl(["history"])
      let lines = list.output.split(separator: "\n")
      #expect(lines.count == 2 && lines[0].hasPrefix("SYNC  OUTCOME "))
      #expect(lines.last?.hasPrefix("  17  published  0.5 s  2026-01-01 00:00:00 ") == true, "\(list.output)")
    }
  }

  @Test("rosterctl sync --wait exits as the sync ended", arguments: [SyncRecord.Outcome.published, .failed])
  func syncWaits(outcome: SyncRecord.Outcome) async throws {
    let report = Self.report(18, outcome: outcome)
    let board = board
    let end: @Sendable (SyncRequest) -> SyncRequest.Accepted = { _ in
      board.syncEnded(report, cache: CacheFacts())
      board.report(Event(outcome == .failed ? .syncFailed : .syncPublished, report: report))
      return SyncRequest.Accepted(sync: 18, joined: false)
    }
    try await withDaemon(sync: end) { rosterctl, _ in
      let result = try await rosterctl(["sync", "--wait", "--json"])
      #expect(result.exit == report.exit)
      #expect(try JSONDecoder().decode(SyncRecord.self, from: Data(result.output.utf8)) == report)
    }
  }

  @Test("rosterctl wait is 0 if there is a snapshot, and 1 when the time is over")
  func wait() async throws {
    try await withDaemon { rosterctl, _ in
      #expect(try await rosterctl(["wait", "--timeout", "50ms"]).exit == 1)
      let hurried = try await rosterctl(["wait", "--timeout", "0s"])
      #expect(hurried.exit == 1 && hurried.error.contains("none came within 0s"))
      board.cache(CacheFacts(snapshot: 1, verifiedAt: Date().rfc3339))
      #expect(try await rosterctl(["wait", "--max-age", "1h", "--timeout", "10s"]).exit == 0)
      for timeout in ["0s", "1ms"] {
        let now = try await rosterctl(["wait", "--max-age", "1h", "--timeout", timeout])
        #expect(now.exit == 0, "\(now.error)")
      }
    }
  }

  @Test("curl can read the status socket, and another user may not ask for a sync")
  func curl() async throws {
    try await withDaemon { _, socket in
      let curl = try Program.tool("curl")
      let status = try await Program.run(
        curl, arguments: ["-sS", "--unix-socket", socket, "http://localhost/v1/status"])
      #expect(status.output.hasPrefix("{") && status.exit == 0)
      let code = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", socket, "http://localhost/v1/sync"]
      let long = try await Program.run(curl, arguments: code + ["-d", String(repeating: "x", count: 70_000)])
      #expect(long.output == "413")
      guard getuid() == 0 else { try skip("only root can become a stranger") }
      chmod(String(socket.dropLast("/status.sock".count)), 0o755)
      let nobody = ["--reuid=65534", "--clear-groups", curl]
      let stranger = try await Program.run(try Program.tool("setpriv"), arguments: nobody + code + ["-X", "POST"])
      #expect(stranger.output == "403")
    }
  }

  @Test("The metrics are clean under promtool check metrics")
  func promtool() async throws {
    board.metrics.request(code: 200, seconds: 0.02, bytes: 1000)
    board.report(Event(.pageRetried, reason: "timeout"))
    let promtool = try Program.tool("promtool")
    let check = try await Program.run(promtool, arguments: ["check", "metrics"], input: board.metricsText())
    #expect(check.exit == 0 && check.output.isEmpty && check.error.isEmpty)
  }
}
