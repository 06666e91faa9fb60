import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterStatus

@Suite struct EventEntryTests {
  private let now = ManualClock().now

  @Test("An event's frame is id, event and one line of data")
  func frame() {
    let event = Event(.pageRetried, sync: 18, page: 7, attempt: 2, reason: "status_500", delaySeconds: 1.5)
    let text = String(decoding: EventEntry(id: 42, at: now, event: event).frame, as: UTF8.self)
    #expect(
      text == """
        id: 42
        event: page.retried
        data: {"at":"2023-11-14T22:13:20.000Z","sync":18,"page":7,"attempt":2,"reason":"status_500","delay_seconds":1.5}


        """)
  }

  @Test("Events that end a sync carry every column of syncs")
  func columns() throws {
    var report = makeReport(18, outcome: .failed)
    report.refreshes = 3
    let data = EventEntry(id: 1, at: now, event: Event(.syncFailed, sync: 18, exit: 69, report: report)).data
    #expect(try JSONDecoder().decode(SyncRecord.self, from: Data(data)) == report)
    let columns = try JSONDecoder().decode([String: Loose].self, from: JSONEncoder().encode(report)).keys
    let sent = try JSONDecoder().decode([String: Loose].self, from: Data(data)).keys
    #expect(Set(sent) == Set(columns).union(["at", "sync"]))
  }

  @Test(
    "An event's data is one line of valid JSON whatever an error contains",
    arguments: ["a \"quote\" and a \\", "two\r\nlines", "\u{0}\u{1f}\t", "é 🛸"])
  func escapes(text: String) throws {
    let entry = EventEntry(id: 1, at: now, event: Event(.configRefused, error: text))
    struct Data_: Decodable { var error: String }
    #expect(try JSONDecoder().decode(Data_.self, from: Data(entry.data)).error == text)
    #expect(!entry.data.contains(UInt8(ascii: "\n")) && !entry.data.contains(UInt8(ascii: "\r")))
  }

  @Test("48: an event of a list names its ancestors")
  func ancestors() {
    var event = Event(.listFailed, sync: 18, resource: "part", error: "upstream answered 403")
    event.of = #"[2,"a b"]"#
    let entry = EventEntry(id: 42, at: now, event: event)
    #expect(String(decoding: entry.data, as: UTF8.self).contains(#""resource":"part","of":[2,"a b"],"error":"#))
  }
}

/// Any JSON value, unread.
private struct Loose: Decodable {
  init(from decoder: any Decoder) {}
}
