import Dispatch
import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// SIGTERM ends the daemon within 5 s in every phase, with exit code 0 and without data loss; `rosterd sync` ends
/// with 1.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ShutdownTests {
  private static let limit = Duration.seconds(5)

  enum Phase: CaseIterable {
    case discovering, pulling, stalled, retrying
  }

  @Test(
    "41: SIGTERM cancels a sync in any phase, and the next one keeps its pages", arguments: Phase.allCases)
  func phase(phase: Phase) async throws {
    try await withSite(.pages(12), settings: ["ROSTERD_RETRY_BASE_DELAY": "1m", "ROSTERD_RETRY_MAX_DELAY": "1m"]) {
      site in
      switch phase {
      case .discovering: site.upstream.hold(.page(1))
      case .pulling: site.upstream.hold(.page(9))
      case .stalled: site.upstream.configure { $0.rules = [.on(.page(9), times: 1, .cut(after: .half, .stall))] }
      case .retrying: site.upstream.configure { $0.rules = [.on(.page(9), times: 1, .status(503))] }
      }
      try await site.withDaemon { daemon, _ in
        try await site.upstream.waitFor { $0.held == 1 || $0.pages(answered: 503) == 1 }
        try await stop(daemon, signal: SIGTERM)
      }
      #expect(try await site.rows("SELECT id, outcome, exit FROM syncs") == [["1", "cancelled", "1"]])
      site.upstream.release()
      #expect(try await site.sync().outcome == .published)
      try await site.expectUpstream()
    }
  }

  @Test("41: a signal between two syncs stops the daemon", arguments: [SIGTERM, SIGINT])
  func idle(signal: Int32) async throws {
    try await withDaemon(.pages(1)) { site, daemon, _ in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      try await stop(daemon, signal: signal)
    }
  }

  @Test("41: a signal after the socket answers and before READY stops the daemon", arguments: [SIGTERM, SIGINT])
  func atOnce(signal: Int32) async throws {
    try await withSite(.pages(1)) { site in
      let daemon = try Program(try Program.built("rosterd"), arguments: ["run"], environment: site.settings)
      await withCheckedContinuation { met in
        DispatchQueue(label: "socket").async {
          // Only a few milliseconds pass between the socket and READY, so this polls without a pause.
          while daemon.isRunning, access(site.socket, F_OK) != 0 { sched_yield() }
          daemon.signal(signal)
          met.resume()
        }
      }
      #expect(try await daemon.end().exit == 0)
      #expect(access(site.socket, F_OK) != 0)
    }
  }

  enum EarlyStop: CaseIterable {
    case run, sync, hangup

    var command: String { self == .run ? "run" : "sync" }
    var signals: [Int32] { self == .hangup ? [SIGHUP] : [SIGTERM, SIGINT] }
  }

  @Test(
    "41: a signal before the configuration is read ends with the same exit code",
    arguments: EarlyStop.allCases)
  func early(stop: EarlyStop) async throws {
    try await withSite(.pages(1)) { site in
      for signal in stop.signals {
        // A named pipe is read only below /dev.
        let file = "/dev/shm/rosterd-\(UInt32.random(in: 0 ... .max)).toml"
        try #require(mkfifo(file, 0o600) == 0)
        defer { unlink(file) }
        let program = try site.start(stop.command, "--config", file)
        // The call returns as soon as the program opens the other side, and then waits for text that never comes.
        let pipe = open(file, O_WRONLY)
        defer { close(pipe) }
        try await self.stop(program, signal: signal, exit: stop == .run ? 0 : 1)
      }
      #expect(access(site.cache, F_OK) != 0)
    }
  }

  @Test("32: a shutdown waits for the token request in flight and stores its answer")
  func token() async throws {
    try await withSite(.pages(3, tokens: .init(flow: .authenticateForm, uses: [1]))) { site in
      site.upstream.hold(.anyToken)
      try await site.withDaemon { daemon, notify in
        try await site.upstream.waitFor { $0.held == 1 }
        daemon.signal(SIGTERM)
        _ = await notify.first { $0.contains("STOPPING=1") }
        #expect(try await site.status().state == .stopping)
        site.upstream.release()
        #expect(try await daemon.end().exit == 0)
      }
      #expect(try await site.sync().refreshes == 0)
      #expect(site.upstream.counts.tokenRequests.count == 1 && site.upstream.counts.reuses == 0)
    }
  }

  @Test("32, 41: a token request without an answer does not delay the stop; the log says what that may mean")
  func silentToken() async throws {
    try await withSite(.pages(3, tokens: .init(flow: .authenticateForm, uses: [1]))) { site in
      site.upstream.hold(.anyToken)
      try await site.withDaemon { daemon, _ in
        try await site.upstream.waitFor { $0.held == 1 }
        let log = try await stop(daemon, signal: SIGTERM)
        #expect(log.contains("token"), "\(log)")
      }
    }
  }

  @Test("41: a publish that waits for another writer is interrupted, and pulled pages stay")
  func publish() async throws {
    try await withSite(.pages(3)) { site in
      let python = try Program.tool("python3")
      site.upstream.hold(.page(3))
      try await site.withDaemon { daemon, notify in
        try await site.upstream.waitFor { $0.held == 1 }
        let locked = try NotifySocket(path: "\(site.folder)/locked")
        let other = try Program(
          python, arguments: ["-c", Self.lock, site.cache, "\(site.folder)/locked"], ended: locked.close)
        try #require(await locked.first { $0 == "locked" } != nil)
        site.upstream.release()
        #expect(await notify.first { $0.contains("STATUS=syncing: publishing") } != nil)
        try await stop(daemon, signal: SIGTERM)
        _ = try await other.end(by: SIGKILL)
      }
      let report = try await site.sync()
      #expect(report.outcome == .published && report.notModified == 3 && report.resumed == 3)
      try await site.expectUpstream()
    }
  }

  @Test(
    "41: a name server that does not answer delays no stop, and the cache is closed",
    arguments: ["run", "sync"])
  func silentNames(command: String) async throws {
    try await withFaults(.pages(1), settings: ["ROSTERD_UPSTREAM_BASE_URL": "http://upstream.example"]) {
      site, faults in
      let names = try faults.hangNames()
      let program = try Program(
        try Program.built("rosterd"), arguments: [command], environment: site.settings, ended: names.close)
      #expect(await names.first { $0 == "asked" } != nil)
      try await stop(program, signal: SIGTERM, exit: command == "run" ? 0 : 1)
      try expectClosed(site)
      #expect(try await site.rows("SELECT outcome FROM syncs") == [["cancelled"]])
    }
  }

  @Test(
    "41: a connection in progress delays no stop, and the cache is closed",
    arguments: ["run", "sync"], ["UPSTREAM_BASE_URL", "AUTH_TOKEN_URL", "UPSTREAM_PROXY"])
  func connecting(command: String, key: String) async throws {
    let full = try FullBacklog()
    var settings = ["ROSTERD_\(key)": "http://127.0.0.1:\(full.port)", "ROSTERD_UPSTREAM_TIMEOUT": "10m"]
    let asksForToken = key.hasPrefix("AUTH")
    if asksForToken { settings["ROSTERD_AUTH_FLOW"] = "authenticate_form" }
    let tokens = asksForToken ? Scenario.Tokens(flow: .authenticateForm, uses: [1]) : .init()
    // The second page gets an expired token.
    try await withSite(.pages(3, tokens: tokens), settings: settings) { site in
      let program = try site.start(command)
      while program.isRunning, !full.isAsked { await Task.yield() }
      try await stop(program, signal: SIGTERM, exit: command == "run" ? 0 : 1)
      try expectClosed(site)
      #expect(try await site.rows("SELECT outcome FROM syncs") == [["cancelled"]])
    }
  }

  @Test(
    "41: a page that takes long to read delays no stop, and the cache is closed",
    arguments: ["run", "sync"])
  func longPage(command: String) async throws {
    let fields = (1...250_000).map { "\"field\($0)\":0" }.joined(separator: ",")
    let body = "{\"info\":{\"count\":1,\"pages\":1},\"results\":[{\(fields)}]}"
    try await withSite(
      .pages(1, rules: [.on(.anyPage, .answer(status: 200, body: body))]), settings: ["ROSTERD_LOG_LEVEL": "debug"]
    ) { site in
      let program = try site.start(command)
      // Now the answer is being read.
      while program.isRunning, !program.complaints.contains("answered") { await Task.yield() }
      try await stop(program, signal: SIGTERM, exit: command == "run" ? 0 : 1)
      try expectClosed(site)
    }
  }

  /// The log has no frames to recover: SQLite keeps the empty file.
  private func expectClosed(_ site: Site) throws {
    var about = stat()
    try #require(stat("\(site.cache)-wal", &about) == 0)
    #expect(about.st_size == 0)
  }

  /// Keeps the write lock until it is killed.
  private static let lock = """
    import signal, socket, sqlite3, sys
    db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
    db.execute('begin immediate')
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'locked', sys.argv[2])
    signal.pause()
    """

  /// Returns the log of the program.
  @discardableResult
  private func stop(_ daemon: Program, signal: Int32, exit: Int32 = 0) async throws -> String {
    let start = ContinuousClock.now
    daemon.signal(signal)
    let outcome = try await daemon.end()
    #expect(outcome.exit == exit, "\(outcome.error)")
    #expect(try #require(daemon.ended) - start < Self.limit)
    return outcome.error
  }
}
