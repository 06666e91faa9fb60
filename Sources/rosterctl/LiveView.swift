import Glibc
import RosterModel
import RosterStatus
import RosterTerminal

/// `rosterctl watch` on a terminal: one screen, drawn again when something happens and once a second, since ages grow.
struct LiveView {
  let feed: WatchFeed

  /// As fast as a bar moves smoothly.
  private static let frame = Duration.milliseconds(100)
  private static let second = Duration.seconds(1)
  /// More do not fit an ordinary terminal below the status.
  private static let latest = 10

  func run() async throws {
    // Before the screen is taken: where no daemon answers, that is said and all is left as it was.
    var text = WatchText(status: try await feed.status(), syncs: [])
    takeScreen()
    defer { put(Screen.leave) }
    let (looks, look) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        // What happened is read from the status; the stream only says when to look.
        try await feed.follow(opened: { look.yield() }, gone: { _ in look.yield() }, each: { _ in look.yield() })
      }
      group.addTask {
        while true {
          look.yield()
          try await Task.sleep(for: Self.second)
        }
      }
      for await _ in looks {
        await update(&text)
        try draw(text)
        try await Task.sleep(for: Self.frame)
      }
      group.cancelAll()
    }
  }

  private func update(_ text: inout WatchText) async {
    do {
      let status = try await feed.status()
      if text.syncs.isEmpty || text.silence != nil || status.sync.last?.id != text.status?.sync.last?.id {
        text.syncs = try await feed.syncs(Self.latest).filter { $0.finishedAt != nil }
      }
      text.status = status
      text.silence = nil
    } catch let failure as Failure {
      text.silence = failure.cause
    } catch {
      text.silence = "\(error)"
    }
  }

  private func draw(_ text: WatchText) throws {
    let terminal = Output.standard.terminal
    // One less: what clears the rest of a line would clear its last cell.
    try Output.standard.write(
      Screen.frame(text.lines(width: terminal.columns - 1, rows: terminal.rows, colour: terminal.colour)))
  }

  // MARK: The terminal is given back however the program ends

  private func takeScreen() {
    put(Screen.enter)
    signal(SIGINT) { _ in
      put(Screen.leave)
      _exit(0)
    }
    for ending in [SIGTERM, SIGHUP, SIGQUIT] {
      signal(ending) { number in
        put(Screen.leave)
        signal(number, SIG_DFL)
        raise(number)
      }
    }
    // Ctrl-Z: the shell gets its screen, and `fg` brings ours back.
    signal(SIGTSTP) { _ in
      put(Screen.leave)
      raise(SIGSTOP)
    }
    signal(SIGCONT) { _ in put(Screen.enter) }
  }
}

/// Safe in a signal handler (signal-safety(7)).
private func put(_ text: StaticString) {
  _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
}
