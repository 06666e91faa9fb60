internal import RosterModel

/// What `rosterctl watch` has on the screen: the status or the events, as far as there is room, above a line of keys.
package struct WatchScreen: Sendable {
  /// What follows from a key, besides another frame.
  package enum Action: Sendable, Equatable {
    case none, quit, sync
  }

  /// The status, as it was last asked for.
  package var text: WatchText
  /// What became of the last key, until the next one.
  package var notice: String?
  private let hasKeys: Bool
  private var events: [(name: String, data: String)] = []
  private var showsEvents = false
  /// Lines of the status above the screen.
  private var top = 0
  /// Events below the screen.
  private var back = 0
  /// What a page key moves by: the lines of the latest frame.
  private var page = 1

  /// - Parameter hasKeys: false where nothing can be pressed, since standard input is no terminal.
  package init(_ text: WatchText, hasKeys: Bool) {
    self.text = text
    self.hasKeys = hasKeys
  }

  /// Enough to look back at a sync with trouble.
  private static let kept = 1000

  /// An event of the stream.
  package mutating func happened(name: String, data: String) {
    events.append((name, data))
    if events.count > Self.kept { events.removeFirst() }
    // What is being read stays where it is.
    if back > 0 { back = min(back + 1, events.count - 1) }
  }

  /// Scrolls, turns to the other view, or says what else is wanted.
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
      // The next frame knows where the end is.
      top = max(0, top + lines)
    }
  }

  // MARK: Frames

  /// At most `rows` lines of at most `width` cells: what a terminal has no room for would overwrite its last cell.
  package mutating func frame(width: Int, rows: Int, colour: Bool) -> [String] {
    let below = footer(width, rows, colour)
    page = max(1, rows - below.count)
    var lines = showsEvents ? latest(page, width) : status(page, width, colour)
    lines += Array(repeating: "", count: max(0, page - lines.count))
    return (lines + below).suffix(rows).map { $0.cut(to: width, colour) }
  }

  private mutating func status(_ room: Int, _ width: Int, _ colour: Bool) -> [String] {
    let all = text.lines(width: width, room: room, colour: colour)
    top = min(top, max(0, all.count - room))
    return Array(all.dropFirst(top).prefix(room))
  }

  /// Those that fit, the latest at the end.
  private mutating func latest(_ room: Int, _ width: Int) -> [String] {
    if events.isEmpty { return ["nothing has happened since this began"] }
    func lines(_ event: (name: String, data: String)) -> [String] {
      EventText.lines(name: event.name, data: event.data, width: width)
    }
    var shown: [String] = []
    for event in events.dropLast(back).reversed() where shown.count < room { shown = lines(event) + shown }
    // Above the first there is nothing to scroll to.
    while shown.count < room, back > 0 {
      shown += lines(events[events.count - back])
      back -= 1
    }
    return shown.suffix(room)
  }

  private func footer(_ width: Int, _ rows: Int, _ colour: Bool) -> [String] {
    let keys = hasKeys ? "q quit  s sync  e \(showsEvents ? "status" : "events")  ↑↓ scroll" : "Ctrl-C quits"
    let said = notice.map { $0.printable.wrapped(width).prefix(rows / 2).map { $0.toned(.busy, colour) } } ?? []
    return said + [keys.cut(to: width).toned(.faint, colour)]
  }
}
