import FoundationEssentials
import Testing

@testable import RosterCore

@Suite("21, 52: forms of dates") struct DateFormTests {
  private static let day: Int64 = 86_400 * 1_000_000_000

  private static func since(_ form: TimeForm, value: String = "{since}") -> Since {
    Since(
      at: JSONPointer(segments: ["at"]), param: .query("since"), value: value, form: form,
      listing: Resource(name: "thing", path: "/things", columns: []).listing)
  }

  @Test(
    "52: a value is read in its form, and a start is written in the notation of the record",
    arguments: [
      (.compact, "20261123", "2026-11-23T00:00:00Z", "20261122"),
      (.compact, "20261123T090000Z", "2026-11-23T09:00:00Z", "20261122T090000Z"),
      (.compact, "20261123090000", "2026-11-23T09:00:00Z", "20261122090000"),
      (.compact, "20261123T0900", "2026-11-23T09:00:00Z", "20261122T0900"),
      (.compact, "20261123T100000.250+0100", "2026-11-23T09:00:00Z", "20261122T100000.250+0100"),
      (.http, "Mon, 23 Nov 2026 09:00:00 GMT", "2026-11-23T09:00:00Z", "Mon, 23 Nov 2026 08:55:00 GMT"),
      (.http, "Mon, 23 Nov 2026 10:00:00 +0100", "2026-11-23T09:00:00Z", "Mon, 23 Nov 2026 09:55:00 +0100"),
      (.http, "Monday, 23-Nov-26 09:00:00 GMT", "2026-11-23T09:00:00Z", "Mon, 23 Nov 2026 08:55:00 GMT"),
      (.dotnet, "/Date(1795424400000)/", "2026-11-23T09:00:00Z", "/Date(1795424100000)/"),
      (.dotnet, "/Date(1795424400250+0000)/", "2026-11-23T09:00:00Z", "/Date(1795424100250+0000)/"),
      (.dotnet, "/Date(-1000-0500)/", "1969-12-31T23:59:59Z", "/Date(-301000-0500)/"),
    ] as [(TimeForm, String, String, String)])
  func reads(form: TimeForm, text: String, time: String, start: String) throws {
    let since = Self.since(form)
    let mark = try #require(since.mark(text))
    #expect(Timestamp.text(of: mark.value, .rfc3339) == time)
    #expect(since.rendered(from: mark)?.queryText == start)
    #expect(Mark(mark.value, like: text, form: form).value == mark.value)
  }

  @Test(
    "A text of another form has no time",
    arguments: [
      (.compact, ["2026-11-23", "20261323", "2026112", "20261123T25", "20261123T0900x", "00000000", ""]),
      (.http, ["2026-11-23", "Mon, 23 Nov 2026 09:00:00", "Mon, 32 Nov 2026 09:00:00 GMT", "GMT", ""]),
      (.dotnet, ["/Date()/", "/Date(x)/", "/Date(1)", "Date(1)/", "/Date(1+00)/", "/Date(-)/", "1795424400000"]),
    ] as [(TimeForm, [String])])
  func refuses(form: TimeForm, texts: [String]) {
    for text in texts { #expect(Self.since(form).mark(text) == nil, "\(text)") }
  }

  @Test(
    "{since:FORM} and {today:FORM} write each form; days round down",
    arguments: [
      ("compact", "20261123"), ("http", "Mon, 23 Nov 2026 08:55:00 GMT"), ("dotnet", "/Date(1795424100000)/"),
      ("date", "2026-11-23"), ("unix", "1795424100"), ("unix_ms", "1795424100000"), ("rfc3339", "2026-11-23T08:55:00Z"),
    ])
  func writes(form: String, text: String) throws {
    let since = Self.since(.rfc3339, value: "{since:\(form)}")
    #expect(since.rendered(from: try #require(since.mark("2026-11-23T09:00:00Z")))?.queryText == text)
    let midnight = Date(timeIntervalSince1970: 1_795_392_000)
    let today = DayText("{today:\(form)}").filled(at: Date(timeIntervalSince1970: 1_795_424_400))
    let written = TimeForm(rawValue: form).map { Timestamp.text(of: Timestamp.seconds(of: midnight), $0) }
    #expect(today == written ?? "2026-11-23")
  }

  @Test("The start of days is a text also in a body, and its least overlap is a day")
  func days() throws {
    let since = Self.since(.compact)
    #expect(since.overlap == .time(.seconds(86_400)))
    #expect(since.rendered(from: try #require(since.mark("20261123"))) == .text("20261122"))
  }

  @Test("A time of another form differs from a value without a time")
  func others() {
    func other(_ text: String, than form: TimeForm) -> TimeForm? {
      var text = text
      return text.withUTF8 { Timestamp.otherForm(of: $0, than: form) }
    }
    #expect(other("20261123", than: .rfc3339) == .compact && other("2026-11-23", than: .compact) == .rfc3339)
    #expect(other("/Date(1)/", than: .http) == .dotnet)
    #expect(other("Mon, 23 Nov 2026 09:00:00 GMT", than: .dotnet) == .http)
    #expect(other("0000-00-00 00:00:00", than: .rfc3339) == nil && other("never", than: .compact) == nil)
    #expect(other("2026-11-23", than: .rfc3339) == nil && other("2026-11-23", than: .unix) == nil)
  }

  @Test("21: the mark of records without a time is the Date of the first answer, in HTTP's notation")
  func dated() throws {
    var since = Self.since(.http)
    (since.at, since.isDated) = (nil, true)
    var pull = PullExtent()
    pull.add(records: 2, highest: nil, answered: Date(timeIntervalSince1970: 1_795_424_460))
    pull.add(records: 2, highest: nil, answered: Date(timeIntervalSince1970: 1_795_424_400))
    guard case .moves(let mark) = since.move(of: nil, after: pull, isWhole: true, path: "/things") else {
      Issue.record("no mark")
      return
    }
    #expect(mark.text == "Mon, 23 Nov 2026 09:00:00 GMT")
    #expect(since.rendered(from: mark) == .text("Mon, 23 Nov 2026 08:55:00 GMT"))
    #expect(since.move(of: mark, after: pull, isWhole: false, path: "/things") == .stays)
    #expect(since.move(of: mark, after: PullExtent(), isWhole: false, path: "/things") == .stays)
  }
}
