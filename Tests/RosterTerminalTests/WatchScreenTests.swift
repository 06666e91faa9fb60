import Testing

@testable import RosterCore
@testable import RosterTerminal

@Suite struct WatchScreenTests {
  private func screen(silence: String? = nil, hasKeys: Bool = true) -> WatchScreen {
    let status = DaemonStatus(
      version: rosterdVersion, pid: 1, startedAt: "2026-01-01T12:00:00.000Z", uptimeSeconds: 1, state: .starting,
      upstream: DaemonStatus.Upstream(baseURL: "http://localhost/api"),
      cache: DaemonStatus.Cache(path: "/cache.db"), sync: DaemonStatus.Sync(), token: TokenStatus(flow: "none"),
      config: DaemonStatus.Config(path: nil, loadedAt: "2026-01-01T12:00:00.000Z"))
    return WatchScreen(WatchText(status: status, syncs: [], silence: silence), hasKeys: hasKeys)
  }

  private static let keys = "q quit  s sync  e events  ↑↓ scroll"

  @Test(
    "rosterctl watch shows the status above a line of keys, on a screen of any size", arguments: [(39, 10), (79, 24)])
  func fits(size: (width: Int, rows: Int)) {
    var screen = screen()
    let lines = screen.frame(width: size.width, rows: size.rows, colour: false)
    #expect(lines.count == size.rows && lines.allSatisfy { $0.cells <= size.width })
    #expect(lines.first?.hasPrefix("◐ starting: ") == true && lines.last == Self.keys)
    for rows in 1...3 { #expect(screen.frame(width: 20, rows: rows, colour: true).count == rows) }
    // A text without spaces is cut visibly.
    screen.text.status.cache.path = "/" + String(repeating: "x", count: 99)
    for colour in [false, true] {
      let lines = screen.frame(width: size.width, rows: 99, colour: colour).map {
        $0.replacing(/\u{1b}\[[0-9;]*m/, with: "")
      }
      #expect(lines.allSatisfy { $0.cells <= size.width } && lines.contains { $0.hasSuffix("xxx…") })
    }
  }

  @Test("rosterctl watch says at the top that no daemon answers")
  func gone() {
    var screen = screen(silence: "no daemon answers: Connection refused")
    #expect(
      screen.frame(width: 40, rows: 6, colour: false) == [
        "○ the daemon is gone, waiting for it", "  no daemon answers: Connection refused;", "  below, how it was", "",
        "◐ starting: no sync has ended yet", Self.keys,
      ])
  }

  @Test("rosterctl watch quits with q and syncs with s, and shows the result above the keys until the next one")
  func actions() {
    var screen = screen()
    #expect(screen.pressed(.letter("x")) == .none && screen.pressed(.letter("s")) == .sync)
    screen.notice = "only root may\u{1b}[2J ask"
    #expect(screen.frame(width: 60, rows: 5, colour: false).suffix(2) == ["only root may�[2J ask", Self.keys])
    #expect(screen.pressed(.up) == .none)
    #expect(screen.frame(width: 60, rows: 5, colour: false).last == Self.keys && screen.notice == nil)
    #expect(screen.pressed(.letter("q")) == .quit)
  }

  @Test("rosterctl watch scrolls the status with arrows, up to its end")
  func scrolls() {
    var screen = screen()
    func first() -> String { screen.frame(width: 60, rows: 4, colour: false)[0] }
    #expect(first().hasPrefix("◐"))
    #expect(screen.pressed(.up) == .none && first().hasPrefix("◐"))
    #expect(screen.pressed(.down) == .none && first().hasPrefix("       data"))
    #expect(screen.pressed(.end) == .none && first().hasPrefix("   upstream"))
    #expect(screen.pressed(.pageDown) == .none && first().hasPrefix("   upstream"))
    #expect(screen.pressed(.pageUp) == .none && first().hasPrefix("       data"))
    #expect(screen.pressed(.home) == .none && first().hasPrefix("◐"))
  }

  @Test("rosterctl watch shows the events with e, the latest last, and does not move while others arrive")
  func events() {
    var screen = screen()
    func tell(_ page: Int) {
      screen.happened(name: "page.fetched", data: #"{"at":"2026-01-01T12:00:00.","page":\#(page)}"#)
    }
    func shown() -> [String] { screen.frame(width: 60, rows: 3, colour: false) }
    #expect(screen.pressed(.letter("e")) == .none)
    #expect(shown() == ["nothing has happened since this began", "", "q quit  s sync  e status  ↑↓ scroll"])
    for page in 1...2000 { tell(page) }
    #expect(shown().prefix(2) == ["12:00:00 page.fetched  page 1999", "12:00:00 page.fetched  page 2000"])
    #expect(screen.pressed(.up) == .none)
    tell(2001)
    #expect(shown().prefix(2) == ["12:00:00 page.fetched  page 1998", "12:00:00 page.fetched  page 1999"])
    #expect(screen.pressed(.down) == .none && screen.pressed(.pageDown) == .none)
    #expect(shown()[1] == "12:00:00 page.fetched  page 2001")
    #expect(screen.pressed(.home) == .none && shown()[0] == "12:00:00 page.fetched  page 1002")
    #expect(screen.pressed(.down) == .none && shown()[0] == "12:00:00 page.fetched  page 1003")
    #expect(screen.pressed(.letter("e")) == .none && shown()[0].hasPrefix("◐"))
  }

  @Test("rosterctl watch without a keyboard offers no keys")
  func noKeys() {
    var screen = screen(hasKeys: false)
    #expect(screen.frame(width: 60, rows: 4, colour: false).last == "Ctrl-C quits")
  }
}
