import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterTerminal

/// Texts with which an upstream might attack a terminal (CVE-2003-0063 and similar). They contain a new title, a colour
/// in seven and in eight bits, an extra line, a bell and reversed text.
let hostileText =
  "a\u{1b}]0;title\u{7}b\u{9b}31mc\nd\re\u{8}f\u{7f}g\u{202e}h\u{2066}i\u{2028}j\u{85}k\u{200b}l\u{e0041}m\u{feff}n"
let steeringScalars: Set<Unicode.Scalar> = [
  "\u{1b}", "\u{7}", "\u{9b}", "\n", "\r", "\u{8}", "\u{7f}", "\u{202e}", "\u{2066}", "\u{2028}", "\u{85}", "\u{200b}",
  "\u{e0041}", "\u{feff}",
]

@Suite struct DisplayTextTests {
  @Test("Text from upstream is printable: terminal controls become a mark, and all other text stays")
  func printable() {
    #expect(hostileText.printable == "a�]0;title�b�31mc�d�e�f�g�h�i�j�k�l�m�n")
    #expect("Rick Sa\u{301}nchez, 日本語 👨‍👩‍👧".printable == "Rick Sa\u{301}nchez, 日本語 👨‍👩‍👧")
  }

  @Test("Lines for people do not control the terminal: events, syncs, rejects, the demo's story")
  func lines() throws {
    var report = SyncRecord(id: 1, startedAt: "2026-01-01T12:00:00.000Z", outcome: .failed)
    report.error = hostileText
    var degraded = report
    degraded.outcome = .published
    let quoted = String(decoding: try JSONEncoder().encode(hostileText), as: UTF8.self)
    let data = #"{"at":"t","error":\#(quoted)}"#
    let sync = String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
    var watch = WatchLine()
    let lines: [String?] = [
      EventText.line(name: "sync.failed", data: data), EventText.line(name: hostileText, data: hostileText),
      EventText.line(name: "sync.failed", data: #"{"at":"t","# + sync.dropFirst()),
      EventText.lines(name: "token.failed", data: data, width: 30).joined(),
      EventText.lines(name: "x", data: hostileText, width: 30).joined(),
      watch.line(name: "token.failed", data: data, seconds: 0), watch.line(name: "sync.failed", data: sync, seconds: 0),
      WatchLine.line(report), SyncText.line(report), SyncText.line(degraded),
      SyncTable([report]).text(width: 500),
      RejectedRecord(
        sync: 1, resource: "issue", page: 1, position: 2, reason: hostileText, document: hostileText
      ).text(width: nil),
      Timeline([(0, Event(.tokenFailed, error: hostileText)), (1, Event(.syncFailed, report: report))]).text(),
    ]
    for line in lines {
      let text = try #require(line)
      #expect(!text.unicodeScalars.contains { $0 != "\n" && steeringScalars.contains($0) }, "\(text.debugDescription)")
      #expect(!text.contains("c\nd"))
    }
  }

  @Test("51: a text on one line has a space for each run of tabs and line ends, and no control")
  func oneLine() {
    let texts = [
      ("", ""), ("a b", "a b"), ("a\tb", "a b"), ("\r\n\n a\u{2028}\u{85}\u{0B}b\n", "  a b "), ("\n", " "),
      ("é\t日本", "é 日本"), ("a\u{1b}[31mb\u{7f}", "a\u{FFFD}[31mb\u{FFFD}"),
    ]
    for (text, line) in texts { #expect(text.oneLine == line, "\(text.debugDescription)") }
  }

  @Test("51: an ASCII text costs far less than a search for line ends by a regular expression")
  func cost() throws {
    let texts = (0..<500).map { "Item number \($0) of a list" }
    func fastest(_ work: (String) -> String) -> Duration? {
      (0..<5).map { _ in ContinuousClock().measure { for text in texts { _ = work(text) } } }.min()
    }
    let usual = try #require(fastest { $0.replacing(/(\r\n|[\n\r\t])+/, with: " ") })
    let own = try #require(fastest { $0.oneLine.cells == 0 ? "" : $0 })
    #expect(own < usual / 3 || Sanitizer.isPresent, "\(own) beside \(usual)")
  }

  @Test("The width of a text is counted in the terminal's cells")
  func cells() {
    let texts = [("", 0), ("abc", 3), ("Sa\u{301}n", 3), ("日本", 4), ("🚀", 2), ("👩‍👩‍👧", 2), ("한글", 4), ("é\u{200d}", 1)]
    for (text, cells) in texts { #expect(text.cells == cells, "\(text)") }
  }
}
