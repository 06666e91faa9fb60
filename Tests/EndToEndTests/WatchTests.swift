import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// `rosterctl watch` beside the real daemon, over a restart of it.
@Suite(.timeLimit(.minutes(1))) struct WatchTests {
  private struct Seen: Decodable {
    /// Exit code of rosterctl.
    var exit: Int32
    /// The complete output.
    var output: String
  }

  /// Pages with a latency, so that the bar moves visibly.
  private var scenario: Scenario {
    var scenario = Scenario()
    scenario.latency = .milliseconds(150)
    return scenario
  }

  private func watch(_ site: Site, terminal: Bool, columns: Int = 80, noColour: Bool = false) async throws -> Seen {
    var environment = site.settings
    environment["ROSTERD_STATUS_SOCKET"] = site.socket
    environment["TERM"] = "xterm-256color"
    if noColour { environment["NO_COLOR"] = "1" }
    let outcome = try await Program.run(
      try Program.tool("python3"),
      arguments: [
        "-c", Self.script, try Program.built("rosterd"), try Program.built("rosterctl"), terminal ? "\(columns)" : "0",
      ],
      environment: environment)
    try #require(outcome.exit == 0, "\(outcome.error)")
    return try JSONDecoder().decode(Seen.self, from: Data(outcome.output.utf8))
  }

  @Test(
    "rosterctl watch on a terminal shows bars and durations, survives a restart of the daemon, and ends by Ctrl-C",
    arguments: [40, 100])
  func live(columns: Int) async throws {
    try await withSite(scenario) { site in
      let seen = try await watch(site, terminal: true, columns: columns)
      #expect(seen.exit == 0)
      #expect(seen.output.hasPrefix("\u{1b}[?1049h\u{1b}[?25l") && seen.output.hasSuffix("\u{1b}[?25h\u{1b}[?1049l"))
      #expect(seen.output.contains("\u{1b}[32m━") && seen.output.contains("OUTCOME"))
      let frames = seen.output.replacing("\u{1b}[H", with: "\n").replacing(/\u{1b}\[[?0-9;]*[A-Za-z]|\r/, with: "")
      let wide = frames.split(whereSeparator: \.isNewline).filter { $0.count >= columns }
      #expect(wide.isEmpty)
    }
  }

  @Test("rosterctl watch with NO_COLOR has bars without colour")
  func noColour() async throws {
    try await withSite(scenario) { site in
      let seen = try await watch(site, terminal: true, noColour: true)
      #expect(seen.exit == 0 && seen.output.contains("━") && !seen.output.contains("\u{1b}[32m"))
    }
  }

  @Test("rosterctl watch in a pipe prints plain lines")
  func plain() async throws {
    try await withSite(scenario) { site in
      let seen = try await watch(site, terminal: false)
      #expect(seen.exit == 0 && !seen.output.contains("\u{1b}") && !seen.output.contains("\r"))
      let lines = seen.output.split(separator: "\n")
      #expect(lines.first?.contains("sync 1 published in ") == true)
      #expect(lines.contains { $0.contains(": idle: 826 records") })
      #expect(lines.contains { $0.contains("the daemon is gone, waiting for it") })
      #expect(lines.last?.contains("sync 2 unchanged in ") == true)
    }
  }

  @Test("rosterctl watch without a daemon at the start ends with 3")
  func absent() async throws {
    let outcome = try await Program.run(
      try Program.built("rosterctl"), arguments: ["watch", "--socket", "/nonexistent/status.sock"])
    #expect(outcome.exit == 3 && outcome.output.isEmpty && outcome.error.contains("no daemon answers"))
  }

  @Test("rosterctl watch at 40×10 handles keys at once without an echo, and restores the terminal")
  func keys() async throws {
    try await withSite { site in
      let seen = try await press(site, terminal: "xterm")
      #expect(seen.exit == 0)
      #expect(seen.before == [true, true] && seen.during == [false, false] && seen.after == [true, true])
      #expect(seen.tallest == 10 && seen.output.contains("q quit  s sync  e events"))
      #expect(seen.output.hasSuffix("\u{1b}[?25h\u{1b}[?1049l"))
    }
  }

  @Test("rosterctl watch on a dumb terminal, or without TERM, prints plain lines", arguments: ["dumb", nil])
  func dumb(terminal: String?) async throws {
    try await withSite { site in
      let seen = try await press(site, terminal: terminal)
      #expect(seen.exit == 0 && seen.during == [true, true] && !seen.output.contains("\u{1b}"))
      #expect(seen.output.contains(": idle: 826 records"))
    }
  }

  private struct Pressed: Decodable {
    var exit: Int32
    var output: String
    /// True if the terminal collects lines, and if it echoes (termios(3)).
    var before: [Bool]
    var during: [Bool]
    var after: [Bool]
    /// Number of lines of the tallest frame.
    var tallest: Int
  }

  private func press(_ site: Site, terminal: String?) async throws -> Pressed {
    var seen: Pressed?
    try await site.withDaemon { _, _ in
      var environment = ["PATH": site.settings["PATH"] ?? "", "ROSTERD_STATUS_SOCKET": site.socket]
      environment["TERM"] = terminal
      let outcome = try await Program.run(
        try Program.tool("python3"), arguments: ["-c", Self.presses, try Program.built("rosterctl")],
        environment: environment)
      try #require(outcome.exit == 0, "\(outcome.error)")
      seen = try JSONDecoder().decode(Pressed.self, from: Data(outcome.output.utf8))
    }
    return try #require(seen)
  }

  /// Runs watch in a terminal of 40×10 and presses e, s, an arrow and q; on a dumb one Ctrl-C.
  private static let presses = #"""
    import fcntl, json, os, pty, select, struct, subprocess, sys, termios
    rosterctl = sys.argv[1]
    subprocess.run([rosterctl, "wait", "--timeout", "20s"], check=True)
    end, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
    def flags():
        local = termios.tcgetattr(other)[3]
        return [bool(local & termios.ICANON), bool(local & termios.ECHO)]
    before = flags()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(other, termios.TIOCSCTTY, 0)
        for descriptor in (0, 1, 2): os.dup2(other, descriptor)
        os.execv(rosterctl, [rosterctl, "watch"])
    seen = b""
    def read():
        global seen
        if not select.select([end], [], [], 20)[0]: raise TimeoutError(seen.decode(errors="replace"))
        seen += os.read(end, 65536)
    def expect(text, start=0):
        while text.encode() not in seen[start:]: read()
    expect("idle: 826 records")
    during = flags()
    if os.environ.get("TERM", "dumb") == "dumb":
        os.write(end, b"\x03")
    else:
        for key, text in [(b"e", "nothing has happened"), (b"s", "sync 2 unchanged"), (b"e", "idle: 826"), (b"\x1b[B", "data")]:
            start = len(seen)
            os.write(end, key)
            expect(text, start)
        os.write(end, b"q")
    _, status = os.waitpid(pid, 0)
    while select.select([end], [], [], 0)[0]: read()
    tallest = max(frame.count(b"\r\n") + 1 for frame in seen.split(b"\x1b[H"))
    print(json.dumps({"exit": os.waitstatus_to_exitcode(status), "output": seen.decode(), "before": before,
                      "during": during, "after": flags(), "tallest": tallest}))
    """#

  /// Runs the daemon and watch, in a terminal with this number of columns or (0) a pipe; restarts the daemon; presses
  /// Ctrl-C.
  private static let script = #"""
    import fcntl, json, os, pty, select, signal, struct, subprocess, sys, termios, time
    rosterd, rosterctl, columns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    def daemon():
        return subprocess.Popen([rosterd, "run"], stderr=subprocess.DEVNULL)
    def wait():
        subprocess.run([rosterctl, "wait", "--timeout", "20s"], check=True)
    running = daemon()
    try:
        wait()
        if columns:
            pid, end = pty.fork()
            if pid == 0:
                fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
                os.execv(rosterctl, [rosterctl, "watch"])
        else:
            end, other = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.dup2(other, 1)
                os.execv(rosterctl, [rosterctl, "watch"])
            os.close(other)
        seen = b""
        def read(seconds):
            global seen
            if not select.select([end], [], [], seconds)[0]: raise TimeoutError(seen.decode(errors="replace"))
            try: more = os.read(end, 65536)
            except OSError: more = b""
            seen += more
            return more
        def expect(text):
            start = len(seen)
            while text.encode() not in seen[start:]:
                if not read(20): raise EOFError(seen.decode(errors="replace"))
        expect("idle: 826 records")
        running.terminate()
        running.wait(10)
        expect("the daemon is gone")
        running = daemon()
        if columns: expect("of 42 pages")
        expect("sync 2 unchanged")
        if columns: os.write(end, b"\x03")
        else: os.kill(pid, signal.SIGINT)
        while read(10): pass
        print(json.dumps({"exit": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), "output": seen.decode()}))
    finally:
        running.terminate()
        running.wait(10)
    """#
}
