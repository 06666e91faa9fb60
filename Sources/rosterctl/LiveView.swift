import ArgumentParser
import Dispatch
import FoundationEssentials
import Glibc
import RosterCore
import RosterStatusClient
import RosterTerminal
import Synchronization

/// `rosterctl watch` on a terminal: one screen, drawn again when something happens or is pressed, and once a second,
/// since ages grow.
actor LiveView {
  private let feed: WatchFeed
  private var screen: WatchScreen
  private var noticeEnds: ContinuousClock.Instant?
  /// Signals that the screen is to be drawn, that the status is to be read, and that a sync was requested.
  private let frames = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
  private let looks = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
  private let wishes = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  /// Interval at which a bar moves smoothly.
  private static let frame = Duration.milliseconds(100)
  private static let second = Duration.seconds(1)
  /// Time to read a sentence.
  private static let noticed = Duration.seconds(8)
  /// More do not fit an ordinary terminal below the status.
  private static let latest = 10

  private init(feed: WatchFeed, status: DaemonStatus) {
    self.feed = feed
    screen = WatchScreen(WatchText(status: status, now: Date(), syncs: []), hasKeys: RawMode.isPossible)
  }

  /// Returns when the user quits.
  static func run(_ feed: WatchFeed) async throws {
    // The daemon is asked first: if it does not answer, the command fails and leaves the screen unchanged.
    let view = LiveView(feed: feed, status: try await feed.status())
    takeScreen()
    defer { giveBack() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await view.follow() }
      group.addTask { try await view.tick() }
      group.addTask { try await view.look() }
      group.addTask { try await view.draw() }
      group.addTask { await view.askForSyncs() }
      if RawMode.isPossible { group.addTask { await view.listen() } }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  // MARK: What happens

  private func follow() async throws {
    try await feed.events.follow(
      opened: { _ in self.looks.continuation.yield() }, silent: { _ in self.looks.continuation.yield() },
      each: { event in
        await self.happened(event)
      })
  }

  private func happened(_ event: StreamedEvent) {
    screen.happened(name: event.name, data: event.data)
    looks.continuation.yield()
  }

  private func tick() async throws {
    let resized = DispatchSource.makeSignalSource(signal: SIGWINCH)
    resized.setEventHandler { [frames] in frames.continuation.yield() }
    resized.activate()
    defer { resized.cancel() }
    while true {
      looks.continuation.yield()
      try await Task.sleep(for: Self.second)
    }
  }

  /// Returns when the user quits, or when the terminal is closed.
  private func listen() async {
    var keys = KeyReader()
    for await bytes in Keyboard.bytes() {
      for key in keys.keys(in: bytes) {
        noticeEnds = nil
        switch screen.pressed(key) {
        case .quit: return
        case .sync: wishes.continuation.yield()
        case .none: break
        }
      }
      frames.continuation.yield()
    }
  }

  private func askForSyncs() async {
    for await _ in wishes.stream {
      let answer: String
      do { answer = try await feed.askForSync() } catch { answer = "\(error)" }
      screen.notice = answer
      noticeEnds = .now + Self.noticed
      looks.continuation.yield()
    }
  }

  // MARK: What is shown

  /// The status is asked for apart from drawing: a daemon that hangs holds up no key.
  private func look() async throws {
    for await _ in looks.stream {
      await update()
      frames.continuation.yield()
      try await Task.sleep(for: Self.frame)
    }
  }

  private func update() async {
    do {
      let status = try await feed.status()
      let known = screen.text
      if known.syncs.isEmpty || known.silence != nil || status.sync.last?.id != known.status.sync.last?.id {
        screen.text.syncs = try await feed.syncs(Self.latest).filter { $0.finishedAt != nil }
      }
      (screen.text.status, screen.text.now) = (status, Date())
      screen.text.silence = nil
    } catch {
      screen.text.silence = (error as? Failure)?.cause ?? "\(error)"
    }
  }

  private func draw() async throws {
    for await _ in frames.stream {
      if let noticeEnds, noticeEnds < .now { screen.notice = nil }
      let terminal = Output.standard.terminal
      // One column less, because clearing the rest of a full line clears its last cell.
      let lines = screen.frame(width: terminal.columns - 1, rows: terminal.rows, colour: terminal.colour)
      try put(frame: Screen.frame(lines))
      try await Task.sleep(for: Self.frame)
    }
  }
}

// MARK: The terminal is given back however the program ends

// A signal may interrupt another thread than the one that draws. A frame that is drawn after `leave` would stay on the
// terminal.
private let isTaken = Atomic(false)
private let isDrawing = Atomic(false)

private func takeScreen() {
  take()
  signal(SIGINT) { _ in
    giveBack()
    _exit(0)
  }
  for ending in [SIGTERM, SIGHUP, SIGQUIT] {
    signal(ending) { number in
      giveBack()
      signal(number, SIG_DFL)
      raise(number)
    }
  }
  // Ctrl-Z: the shell gets its screen, and `fg` brings ours back.
  signal(SIGTSTP) { _ in
    giveBack()
    raise(SIGSTOP)
  }
  signal(SIGCONT) { _ in take() }
}

private func take() {
  RawMode.begin()
  put(Screen.enter)
  isTaken.store(true, ordering: .sequentiallyConsistent)
}

private func giveBack() {
  isTaken.store(false, ordering: .sequentiallyConsistent)
  // Not for ever: the terminal may take nothing, or the signal has met the thread that draws.
  for _ in 0..<100 where isDrawing.load(ordering: .sequentiallyConsistent) { poll(nil, 0, 1) }
  put(Screen.leave)
  RawMode.end()
}

private func put(frame: String) throws {
  isDrawing.store(true, ordering: .sequentiallyConsistent)
  defer { isDrawing.store(false, ordering: .sequentiallyConsistent) }
  if isTaken.load(ordering: .sequentiallyConsistent) { try Output.standard.write(frame) }
}

/// Safe in a signal handler (signal-safety(7)).
private func put(_ text: StaticString) {
  _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
}

struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the status live, with bars and the latest syncs.")

  @OptionGroup var place: Places

  func run() async throws {
    signal(SIGINT) { _ in _exit(0) }
    let feed = WatchFeed(client: try await place.client())
    if Output.standard.terminal.isInteractive {
      try await LiveView.run(feed)
    } else {
      try await PlainView(feed: feed).run()
    }
  }
}

/// The requests that both views send to the daemon.
struct WatchFeed: Sendable {
  let client: StatusClient

  /// Time after which a silent daemon is shown as not answering.
  private static let patience = Duration.seconds(2)
  /// The screen shows at once that the daemon does not answer, and waits for it until the user quits.
  private static let policy = SilencePolicy(toldAfter: .zero, givenUpAfter: nil)

  var events: EventFollower { EventFollower(client: client, policy: Self.policy) }

  func status() async throws -> DaemonStatus { try await client.status(within: Self.patience) }

  /// The latest first.
  func syncs(_ count: Int) async throws -> [SyncRecord] { try await client.syncs(count, within: Self.patience) }

  /// Requests a sync, and describes the answer.
  func askForSync() async throws -> String {
    let request = SyncRequest()
    return try request.accepted(try await request.post(to: client), client: client).text
  }
}

/// The keys that the user presses, from standard input.
enum Keyboard {
  /// Ends where the terminal goes away.
  static func bytes() -> AsyncStream<[UInt8]> {
    let (bytes, pressed) = AsyncStream<[UInt8]>.makeStream()
    // A thread of its own: it waits for as long as the program lives.
    DispatchQueue(label: "keyboard").async {
      var buffer = [UInt8](repeating: 0, count: 256)
      while case let count = read(STDIN_FILENO, &buffer, buffer.count), count > 0 || (count < 0 && errno == EINTR) {
        if count > 0 { pressed.yield(Array(buffer[..<count])) }
      }
      pressed.finish()
    }
    return bytes
  }
}

/// Settings of the terminal at the start; nil if standard input is not a terminal. They are read before any change, so
/// that a signal handler may restore them (signal-safety(7) permits tcsetattr).
private let given: termios? = {
  var settings = termios()
  return tcgetattr(STDIN_FILENO, &settings) == 0 ? settings : nil
}()

/// Keys come at once and are not shown; Ctrl-C and Ctrl-Z are signals still (termios(3)).
private let raw: termios? = given.map { given in
  var settings = given
  settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
  return settings
}

/// Standard input as a keyboard.
enum RawMode {
  static var isPossible: Bool { raw != nil }
  static func begin() { set(raw) }
  static func end() { set(given) }

  private static func set(_ settings: termios?) {
    if var settings { tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) }
  }
}

/// `rosterctl watch` for a pipe or a file: a line for each event.
actor PlainView {
  private let feed: WatchFeed
  private var line = WatchLine()
  private let start = ContinuousClock.now

  /// Enough to see how long a sync usually takes.
  private static let latest = 5

  init(feed: WatchFeed) {
    self.feed = feed
  }

  func run() async throws {
    Output.standard.endWhenUnread()
    for report in try await feed.syncs(Self.latest).reversed() where report.finishedAt != nil {
      try print(WatchLine.line(report))
    }
    try print(try await feed.status())
    try await feed.events.follow(
      opened: { again in if again { try await self.printStatus() } },
      silent: { failure in
        try await self.print("\(Date().rfc3339)  the daemon is gone, waiting for it: \(failure.cause)")
      },
      each: { event in try await self.happened(event) })
  }

  private func happened(_ event: StreamedEvent) throws {
    if let text = line.line(name: event.name, data: event.data, seconds: (ContinuousClock.now - start).seconds) {
      try print(text)
    }
  }

  private func printStatus() async throws { try print(try await feed.status()) }

  private func print(_ status: DaemonStatus) throws {
    try print("\(Date().rfc3339)  rosterd \(status.version), pid \(status.pid): \(status.message)")
  }

  private func print(_ line: String) throws { try Output.standard.write(line.printable + "\n") }
}
