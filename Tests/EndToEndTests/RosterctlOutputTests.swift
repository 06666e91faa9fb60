import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// The real rosterctl with the real rosterd, while the output or the daemon fails.
@Suite(.timeLimit(.minutes(1))) struct RosterctlOutputTests {
  private struct Seen: Decodable {
    /// Exit code of rosterctl.
    var exit: Int32
    /// Widths of the bar at 80 columns, and then at 40.
    var wide: Int
    var narrow: Int
    /// Output after the daemon was killed.
    var rest: String
  }

  /// Runs a line of bash in which `$0` is rosterctl.
  private func bash(_ line: String, in site: Site) async throws -> Program.Outcome {
    var environment = site.settings
    environment["ROSTERD_STATUS_SOCKET"] = site.socket
    environment["ROSTERD_CACHE_PATH"] = site.cache
    return try await Program.run(
      try Program.tool("bash"), arguments: ["-c", line, try Program.built("rosterctl")], environment: environment)
  }

  private func withSnapshot(_ body: (Site) async throws -> Void) async throws {
    try await withSite(.pages(2)) { site in
      _ = try await site.sync()
      try await site.withDaemon { _, _ in try await body(site) }
    }
  }

  @Test("rosterctl reports an answer that cannot be written, with 73")
  func full() async throws {
    try await withSnapshot { site in
      let commands = [
        "status", "status --json", "history", "history --json", "characters", "characters --json", "character 1",
        "character 1 --json", "list", "list --json", "sync", "sync --wait", "sync --wait --json", "watch", "--help",
        "--version",
        "sync --help", "--generate-completion-script bash",
      ]
      for command in commands {
        let outcome = try await bash("\"$0\" \(command) >/dev/full", in: site)
        #expect(outcome.exit == 73, "\(command)")
        #expect(
          outcome.error == "rosterctl: cannot write the answer (standard output): No space left on device\n",
          "\(command)")
      }
    }
  }

  @Test("rosterctl never opens a socket in the place of a closed standard output: 73", arguments: ["status", "web"])
  func closed(command: String) async throws {
    try await withSnapshot { site in
      let outcome = try await bash("\"$0\" \(command) >&-", in: site)
      #expect(outcome.exit == 73)
      #expect(outcome.error == "rosterctl: cannot write the answer (standard output): Bad file descriptor\n")
    }
  }

  @Test(
    "rosterctl ends silently if its output has no reader",
    arguments: [
      "events", "watch", "status", "history", "sync --wait", "list", "show character 1", "--help",
    ])
  func unread(command: String) async throws {
    try await withSnapshot { site in
      // The reader has closed the pipe before anything is written.
      let outcome = try await bash(
        "exec 3> >(:); wait $!; exec env --default-signal=PIPE \"$0\" \(command) >&3", in: site)
      #expect(outcome.exit == 0 && outcome.error.isEmpty)
    }
  }

  @Test(
    "50, 51: a closed pipe does not change the exit code of a command without a daemon",
    arguments: ["status", "status --json", "status --check", "history", "history --json", "explain", "explain --json"])
  func unreadAlone(command: String) async throws {
    try await withSite(.pages(1)) { site in
      _ = try await site.sync()
      let outcome = try await bash("exec 3> >(:); wait $!; exec \"$0\" \(command) >&3", in: site)
      #expect(outcome.exit == 3, "\(outcome.error)")
    }
  }

  @Test("51: in a pipe each fact of status is one line; with COLUMNS lines are wrapped as on a terminal")
  func unbroken() async throws {
    try await withSite(.pages(1, rules: [.on(.page(1), .status(403))])) { site in
      _ = try await site.sync(exit: 65)
      let status = try await site.rosterctl("status", "--cache", site.cache)
      let lines = status.output.split(separator: "\n")
      #expect(lines.allSatisfy { $0.hasPrefix("○ ") || $0.prefix(11).contains { $0 != " " } }, "\(status.output)")
      #expect(lines.contains { $0.count > 100 && $0.contains("last sync  ") && $0.contains("403") }, "\(status.output)")
      let narrow = try await bash("COLUMNS=60 \"$0\" status", in: site)
      #expect(narrow.output.split(separator: "\n").contains { $0.hasPrefix("             ") }, "\(narrow.output)")
    }
  }

  @Test("rosterctl watch | head -n 1 ends with head")
  func head() async throws {
    try await withSnapshot { site in
      let outcome = try await bash("\"$0\" watch | head -n 1; echo ${PIPESTATUS[0]}", in: site)
      let lines = outcome.output.split(separator: "\n")
      #expect(lines.count == 2 && lines.last == "0", "\(outcome.output)")
    }
  }

  @Test("rosterctl: a server that answers without JSON is not rosterd (3)", arguments: ["200 OK", "404 Not Found"])
  func stranger(status: String) async throws {
    let outcome = try await Program.run(
      try Program.tool("python3"), arguments: ["-c", Self.server, try Program.built("rosterctl"), status])
    try #require(outcome.exit == 0, "\(outcome.error)")
    let answers = try JSONDecoder().decode([[String]].self, from: Data(outcome.output.utf8))
    #expect(answers.count == 6)
    #expect(answers.last?[0] == "1" && answers.last?[2].contains("none came within 300ms") == true, "\(answers)")
    for answer in answers.dropLast() {
      #expect(answer[0] == "3" && answer[1].isEmpty && answer[2].contains(": no rosterd answers: "), "\(answer)")
    }
  }

  @Test("rosterctl sync --wait fits its bar to the terminal's width, and is 1 if the daemon is killed")
  func killed() async throws {
    var scenario = Scenario()
    scenario.latency = .milliseconds(150)
    try await withDaemon(scenario, settings: ["ROSTERD_SYNC_CONCURRENCY": "1"]) { site, daemon, _ in
      let outcome = try await Program.run(
        try Program.tool("python3"),
        arguments: ["-c", Self.terminal, try Program.built("rosterctl"), "\(daemon.pid)"],
        environment: [
          "ROSTERD_STATUS_SOCKET": site.socket, "PATH": site.settings["PATH"] ?? "", "TERM": "xterm",
        ])
      try #require(outcome.exit == 0, "\(outcome.error)")
      let seen = try JSONDecoder().decode(Seen.self, from: Data(outcome.output.utf8))
      #expect((50..<80).contains(seen.wide) && seen.narrow < 40)
      #expect(seen.exit == 1 && seen.rest.contains("(the daemon): it went away before the sync ended; "), "\(seen)")
    }
  }

  /// Answers every request with a page of HTML; prints exit code, output and error text of each command.
  private static let server = #"""
    import json, os, socketserver, subprocess, sys, tempfile, threading
    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip(): pass
            self.wfile.write(b"HTTP/1.1 %s\r\nContent-Length: 6\r\n\r\n<html>" % sys.argv[2].encode())
    with tempfile.TemporaryDirectory() as folder:
        with socketserver.ThreadingUnixStreamServer(path := folder + "/s", Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            answers = []
            for command in ["status", "status --json", "history", "history --json", "sync", "wait --timeout 300ms"]:
                run = subprocess.run([sys.argv[1], *command.split(), "--socket", path], capture_output=True, text=True)
                answers.append([str(run.returncode), run.stdout, run.stderr])
            print(json.dumps(answers))
            server.shutdown()
    """#

  /// Runs `sync --wait` in a terminal that shrinks, then kills the daemon.
  private static let terminal = #"""
    import fcntl, json, os, pty, re, select, signal, struct, sys, termios
    def size(descriptor, columns):
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    pid, end = pty.fork()
    if pid == 0:
        size(1, 80)
        os.execv(sys.argv[1], [sys.argv[1], "sync", "--wait"])
    seen = b""
    def read():
        global seen
        if not select.select([end], [], [], 20)[0]: raise TimeoutError(seen.decode(errors="replace"))
        try: more = os.read(end, 65536)
        except OSError: more = b""
        seen += more
        return more
    def bars(start):
        drawn = re.findall(r"\r([^\r]*)\x1b\[K", seen[start:].decode(errors="replace"))
        return [len(re.sub(r"\x1b\[\d*m", "", bar)) for bar in drawn]
    def draw(start, count):
        while len(bars(start)) < count:
            if not read(): raise EOFError(seen.decode(errors="replace"))
        return bars(start)
    wide = draw(0, 2)
    size(end, 40)
    start = len(seen)
    # One may have been on its way.
    narrow = draw(start, 4)[1:]
    start = len(seen)
    os.kill(int(sys.argv[2]), signal.SIGKILL)
    while read(): pass
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps({"exit": code, "wide": max(wide), "narrow": max(narrow), "rest": seen[start:].decode()}))
    """#
}
