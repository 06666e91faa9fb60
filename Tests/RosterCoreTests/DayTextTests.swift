import FoundationEssentials
import RosterCore
import Testing

/// `{today}` in `query` and `body`.
@Suite struct DayTextTests {
  /// 2026-11-24T02:06:15Z.
  private let now = Date(timeIntervalSince1970: 1_795_485_975)

  @Test(
    "52: a day is midnight UTC, N days before the day of the clock, in each form",
    arguments: [
      ("{today}", "2026-11-24T00:00:00Z"), ("{today-1d}", "2026-11-23T00:00:00Z"),
      ("{today-7d:date}", "2026-11-17"), ("{today-7d:rfc3339}", "2026-11-17T00:00:00Z"),
      ("{today-1d:unix}", "1795392000"), ("{today-1d:unix_ms}", "1795392000000"), ("{today:date}", "2026-11-24"),
      ("{today-36500d:date}", "1926-12-19"), ("a>{today-1d:date} and b<{today:date}", "a>2026-11-23 and b<2026-11-24"),
    ])
  func filled(text: String, value: String) {
    #expect(DayText(text).filled(at: now) == value)
    #expect(!DayText(text).hasOddPlaceholder)
  }

  @Test("52: the day begins at midnight UTC")
  func midnight() {
    func day(_ seconds: Double) -> String {
      DayText("{today:date}").filled(at: Date(timeIntervalSince1970: seconds))
    }
    #expect(day(1_795_478_400) == "2026-11-24" && day(1_795_478_399.999) == "2026-11-23")
    #expect(day(0) == "1970-01-01" && day(-1) == "1969-12-31")
  }

  @Test(
    "52: all other text in braces is literal",
    arguments: [
      "{today-0d}", "{today-36501d}", "{today-7}", "{today-7d:iso}", "{today+1d}", "{todays}", "{today", "{now}", "{}",
      "{page}",
    ])
  func literal(text: String) {
    #expect(DayText(text).filled(at: now) == text)
    #expect(DayText(text).hasOddPlaceholder == text.hasPrefix("{today"))
  }

  @Test("52: query and body have the day; a time in seconds alone is a number in a body")
  func resource() {
    var resource = Resource.character
    resource.query = [.init("from", .text("{today-2d:date}")), .init("n", .integer(1))]
    let texts = JSONValue.list([.text("{today-1d:unix}"), .text("x{today-1d:unix}")])
    resource.body = .object([.init("a", texts), .init("b", .text("{today}")), .init("c", .integer(1))])
    let dated = resource.dated(now)
    #expect(dated.query == [.init("from", .text("2026-11-22")), .init("n", .integer(1))])
    let filled = JSONValue.list([.number("1795392000"), .text("x1795392000")])
    #expect(
      dated.body
        == .object([.init("a", filled), .init("b", .text("2026-11-24T00:00:00Z")), .init("c", .integer(1))]))
    #expect(Resource.character.dated(now) == .character)
  }
}
