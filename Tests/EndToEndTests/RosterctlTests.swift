import FoundationEssentials
import Glibc
import RosterModel
import RosterStatus
import RosterTestSupport
import Testing

/// The real rosterctl against a real status socket; what stands behind the socket is the test's.
@Suite struct RosterctlTests {
  private let board = StatusBoard(
    pid: 1, startedAt: Date(), baseURL: "http://localhost/api", cachePath: "/nowhere/roster.db",
    config: DaemonStatus.Config(path: nil, loadedAt: Date().rfc3339), flow: "none", clock: .system)

  private func withDaemon(
    syncs: [SyncReport] = [report(17, .published)],
    sync: @escaping @Sendable (StatusRoutes.SyncRequest) async throws -> StatusRoutes.Accepted = { _ in
      StatusRoutes.Accepted(sync: 18, joined: false)
    },
    _ body: (_ rosterctl: ([String]) async throws -> Program.Outcome, _ socket: String) async throws -> Void
  ) async throws {
    let folder = "/tmp/rosterctl-\(UInt32.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let socket = folder + "/status.sock"
    let routes = StatusRoutes(board: board, history: { _ in syncs }, sync: sync)
    let server = StatusServer(at: .path(socket, mode: 0o666), routes: routes)
    try await server.start()
    do {
      let program = try Program.built("rosterctl")
      try await body({ try await Program.run(program, $0, environment: ["ROSTERD_STATUS_SOCKET": socket]) }, socket)
      await server.stop()
    } catch {
      await server.stop()
      throw error
    }
  }

  private static func report(_ id: Int64, _ outcome: SyncReport.Outcome) -> SyncReport {
    var report = SyncReport(id: id, startedAt: "2026-01-01T00:00:00.000Z", outcome: outcome)
    report.finishedAt = "2026-01-01T00:00:00.500Z"
    report.exit = outcome == .failed ? 65 : 0
    return report
  }

  @Test("rosterctl status: for people, and with --json what /v1/status answers")
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
    "rosterctl sync --wait exits as its sync ended, also where another one has ended since", .timeLimit(.minutes(1)))
  func overtaken() async throws {
    try await withDaemon(syncs: [Self.report(19, .published), Self.report(18, .failed)]) { rosterctl, _ in
      board.syncEnded(Self.report(19, .published), cache: nil)
      let outcome = try await rosterctl(["sync", "--wait"])
      #expect(outcome.exit == 65 && outcome.output.hasPrefix("sync 18 failed"), "\(outcome.output)\(outcome.error)")
    }
  }

  @Test("rosterctl: --socket wins over the environment; where no daemon answers it ends with 3")
  func noDaemon() async throws {
    try await withDaemon { rosterctl, socket in
      let outcome = try await rosterctl(["status", "--socket", socket + ".other"])
      #expect(outcome.exit == 3 && outcome.output.isEmpty)
      #expect(outcome.error.hasPrefix("rosterctl: cannot ask the daemon (\(socket).other): no daemon answers"))
    }
  }

  @Test(
    "rosterctl: a bad command line is 64", arguments: [["statos"], ["status", "--jsno"], ["history", "--limit", "0"]])
  func usage(arguments: [String]) async throws {
    let outcome = try await Program.run(try Program.built("rosterctl"), arguments)
    #expect(outcome.exit == 64 && !outcome.error.isEmpty)
  }

  @Test("rosterctl: a socket of another user is not allowed (77), not another program's")
  func forbidden() async throws {
    try await withDaemon { _, socket in
      let stranger = try Stranger.prefix()
      let folder = String(socket.dropLast("/status.sock".count))
      let copy = folder + "/rosterctl"
      try await Stranger.copyRosterctl(to: copy)
      for path in [folder, copy] { chmod(path, 0o755) }
      chmod(socket, 0o600)
      for command in [["status"], ["watch"], ["events"], ["sync", "--wait"], ["wait", "--timeout", "5s"]] {
        let arguments = stranger.dropFirst() + [copy] + command + ["--socket", socket]
        let outcome = try await Program.run(stranger[0], Array(arguments))
        #expect(outcome.exit == 77)
        #expect(
          outcome.error
            == "rosterctl: cannot ask the daemon (\(socket)): Permission denied; use a user in the socket's group, or root\n"
        )
      }
    }
  }

  @Test("rosterctl: --socket stands before the command or behind it", arguments: [true, false])
  func optionFirst(first: Bool) async throws {
    let socket = ["--socket", "/nonexistent/status.sock"]
    let arguments = first ? socket + ["status"] : ["status"] + socket
    let result = try await Program.run(try Program.built("rosterctl"), arguments)
    #expect(result.exit == 3)
  }

  @Test("rosterctl --version names the version")
  func version() async throws {
    let outcome = try await Program.run(try Program.built("rosterctl"), ["--version"])
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

  @Test("rosterctl sync --wait exits as the sync ended", arguments: [SyncReport.Outcome.published, .failed])
  func syncWaits(outcome: SyncReport.Outcome) async throws {
    let report = Self.report(18, outcome)
    let board = board
    let end: @Sendable (StatusRoutes.SyncRequest) -> StatusRoutes.Accepted = { _ in
      board.syncEnded(report, cache: CacheFacts())
      board.report(Event(outcome == .failed ? .syncFailed : .syncPublished, report: report))
      return StatusRoutes.Accepted(sync: 18, joined: false)
    }
    try await withDaemon(sync: end) { rosterctl, _ in
      let result = try await rosterctl(["sync", "--wait", "--json"])
      #expect(result.exit == report.exit)
      let printed = try JSONDecoder().decode(SyncReport.self, from: Data(result.output.utf8))
      #expect(printed == report)
    }
  }

  @Test("rosterctl wait: 0 where there is a snapshot, 1 when the time is over")
  func wait() async throws {
    try await withDaemon { rosterctl, _ in
      let late = try await rosterctl(["wait", "--timeout", "50ms"])
      #expect(late.exit == 1)
      let hurried = try await rosterctl(["wait", "--timeout", "0s"])
      #expect(hurried.exit == 1 && hurried.error.contains("none came within 0s"))
      board.cache(CacheFacts(snapshot: 1, verifiedAt: Date().rfc3339))
      let ready = try await rosterctl(["wait", "--max-age", "1h", "--timeout", "10s"])
      #expect(ready.exit == 0)
      for timeout in ["0s", "1ms"] {
        let now = try await rosterctl(["wait", "--max-age", "1h", "--timeout", timeout])
        #expect(now.exit == 0, "\(now.error)")
      }
    }
  }

  @Test("Status: curl reads the socket, and a stranger may not ask for a sync")
  func curl() async throws {
    try await withDaemon { _, socket in
      let curl = try Program.tool("curl")
      let status = try await Program.run(curl, ["-sS", "--unix-socket", socket, "http://localhost/v1/status"])
      #expect(status.output.hasPrefix("{") && status.exit == 0)
      let code = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", socket, "http://localhost/v1/sync"]
      let long = try await Program.run(curl, code + ["-d", String(repeating: "x", count: 70_000)])
      #expect(long.output == "413")
      guard getuid() == 0 else { try skip("only root can become a stranger") }
      chmod(String(socket.dropLast("/status.sock".count)), 0o755)
      let nobody = ["--reuid=65534", "--clear-groups", curl]
      let stranger = try await Program.run(try Program.tool("setpriv"), nobody + code + ["-X", "POST"])
      #expect(stranger.output == "403")
    }
  }

  @Test("Metrics: clean under promtool check metrics")
  func promtool() async throws {
    board.metrics.request(code: 200, seconds: 0.02, bytes: 1000)
    board.report(Event(.pageRetried, reason: "timeout"))
    let promtool = try Program.tool("promtool")
    let check = try await Program.run(promtool, ["check", "metrics"], input: board.metricsText())
    #expect(check.exit == 0 && check.output.isEmpty && check.error.isEmpty)
  }
}
