package import FoundationEssentials
package import RosterCore

/// The screen of `rosterctl watch`: the status or the events, as far as there is room, above a line that lists the
/// keys.
package struct WatchScreen: Sendable {
  /// The effect of a key, besides a new frame.
  package enum Action: Sendable, Equatable {
    case none, quit, sync
  }

  /// The latest status.
  package var text: WatchText
  /// The result of the last key, shown until the next one.
  package var notice: String?
  private let hasKeys: Bool
  private var events: [(name: String, data: String)] = []
  private var showsEvents = false
  /// Number of status lines scrolled off the top.
  private var top = 0
  /// Number of events scrolled off the bottom.
  private var back = 0
  /// Number of lines that a page key scrolls: those of the latest frame.
  private var page = 1

  /// - Parameter hasKeys: false if standard input is not a terminal, so that no key can be read.
  package init(_ text: WatchText, hasKeys: Bool) {
    self.text = text
    self.hasKeys = hasKeys
  }

  /// Enough events to scroll through a sync with many failures.
  private static let kept = 1000

  /// Adds an event of the stream.
  package mutating func happened(name: String, data: String) {
    events.append((name, data))
    if events.count > Self.kept { events.removeFirst() }
    // The events that the user has scrolled to stay in place.
    if back > 0 { back = min(back + 1, events.count - 1) }
  }

  /// Scrolls or switches the view, or returns another action.
  package mutating func pressed(_ key: Key) -> Action {
    notice = nil
    switch key {
    case .up: scroll(-1)
    case .down: scroll(1)
    case .pageUp: scroll(-page)
    case .pageDown: scroll(page)
    case .home: scroll(-.max / 2)
    case .end: scroll(.max / 2)
    case .letter("q"): return .quit
    case .letter("s"): return .sync
    case .letter("e"): showsEvents.toggle()
    case .letter: break
    }
    return .none
  }

  private mutating func scroll(_ lines: Int) {
    if showsEvents {
      back = max(0, min(back - lines, events.count - 1))
    } else {
      // The next frame limits this to the end.
      top = max(0, top + lines)
    }
  }

  // MARK: Frames

  /// At most `rows` lines of at most `width` cells. Longer output would overwrite the last cell of the terminal.
  package mutating func frame(width: Int, rows: Int, colour: Bool) -> [String] {
    let below = footer(width, rows: rows, colour: colour)
    page = max(1, rows - below.count)
    var lines = showsEvents ? latest(page, width: width) : status(page, width: width, colour: colour)
    lines += Array(repeating: "", count: max(0, page - lines.count))
    return (lines + below).suffix(rows).map { $0.cut(to: width, colour) }
  }

  private mutating func status(_ room: Int, width: Int, colour: Bool) -> [String] {
    let all = text.lines(width: width, room: room, colour: colour)
    top = min(top, max(0, all.count - room))
    return Array(all.dropFirst(top).prefix(room))
  }

  /// The events that fit, the latest last.
  private mutating func latest(_ room: Int, width: Int) -> [String] {
    if events.isEmpty { return ["nothing has happened since this began"] }
    func lines(_ event: (name: String, data: String)) -> [String] {
      EventText.lines(name: event.name, data: event.data, width: width)
    }
    var shown: [String] = []
    for event in events.dropLast(back).reversed() where shown.count < room { shown = lines(event) + shown }
    // The view cannot scroll beyond the first event.
    while shown.count < room, back > 0 {
      shown += lines(events[events.count - back])
      back -= 1
    }
    return shown.suffix(room)
  }

  private func footer(_ width: Int, rows: Int, colour: Bool) -> [String] {
    let keys = hasKeys ? "q quit  s sync  e \(showsEvents ? "status" : "events")  ↑↓ scroll" : "Ctrl-C quits"
    let said = notice.map { $0.printable.wrapped(width).prefix(rows / 2).map { $0.toned(.busy, colour: colour) } } ?? []
    return said + [keys.cut(to: width).toned(.faint, colour: colour)]
  }
}

/// The output of `rosterctl watch` if lines cannot be redrawn: one line for each event, and for pages at most one per
/// second.
package struct WatchLine: Sendable {
  private var lastPage: Double?

  /// Starts before the first event.
  package init() {}

  /// Minimum number of seconds between two lines about pages.
  private static let interval = 1.0

  /// The line for an event with JSON data; nil if it gets none. `seconds` is the time of any monotonic clock.
  package mutating func line(name: String, data: String, seconds: Double) -> String? {
    switch Event.Name(rawValue: name) {
    case .pageFetched:
      if let lastPage, seconds - lastPage < Self.interval { return nil }
      lastPage = seconds
    case .tokenJoined, .tokenRefused: return nil
    case .syncStarted: lastPage = seconds
    case .syncPublished, .syncUnchanged, .syncFailed, .syncCancelled:
      if let line = Self.ended(data) { return line }
    default: break
    }
    return EventText.line(name: name, data: data)
  }

  /// The line for one sync: `2026-01-01T12:00:00.400Z  sync 17 published in 0.4 s: …`.
  package static func line(_ report: SyncRecord) -> String {
    "\(report.finishedAt ?? report.startedAt)  \(SyncText.line(report))"
  }

  private static func ended(_ data: String) -> String? {
    (try? JSONDecoder().decode(SyncRecord.self, from: Data(data.utf8))).map(line)
  }
}

/// The content of `rosterctl watch`: the status, and the durations of the latest syncs.
package struct WatchText: Sendable {
  /// The status when a daemon last answered.
  package var status: DaemonStatus
  /// The time of that answer; nil if unknown.
  package var now: Date?
  /// The latest first.
  package var syncs: [SyncRecord]
  /// The reason why no daemon answers; nil if one does.
  package var silence: String?

  /// - Parameters:
  ///   - now: the time of the status; nil if unknown.
  ///   - syncs: the latest first.
  package init(status: DaemonStatus, now: Date? = nil, syncs: [SyncRecord], silence: String? = nil) {
    self.status = status
    self.now = now
    self.syncs = syncs
    self.silence = silence
  }

  /// Lines of at most `width` cells, or as long as a single word. If there are many resources, only as many are shown
  /// as leave room for the rest.
  /// - Parameter room: number of lines on the screen.
  func lines(width: Int, room: Int, colour: Bool) -> [String] {
    let gone = silence.map {
      ["○ " + Self.gone.toned(.bad, colour: colour)] + ($0.printable + Self.below).wrapped(width - 2).map { "  " + $0 }
        + [""]
    }
    let text = StatusText(status, now: now, width: width, colour: colour, maxResources: max(1, room / 2)).text
    let table = syncs.isEmpty ? "" : "\n" + SyncTable(syncs).text(width: width, colour: colour)
    let lines = (text + table).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    return (gone ?? []) + lines.map(String.init)
  }

  private static let gone = "the daemon is gone, waiting for it"
  private static let below = "; below, how it was"
}
