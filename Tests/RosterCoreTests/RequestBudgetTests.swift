import RosterCore
import Testing

@Suite("Configuration: limit.budget") struct RequestBudgetTests {
  @Test(
    "A budget is a number, a slash and a duration", arguments: [("10000/1d", 10_000, 86_400.0), ("1/100ms", 1, 0.1)])
  func read(text: String, limit: Int, window: Double) {
    #expect(RequestBudget(text: text) == RequestBudget(limit: limit, window: .seconds(window)))
    #expect(RequestBudget(text: text)?.text == text)
  }

  @Test(
    "An invalid budget is refused",
    arguments: [
      "10/1x", "10", "10/", "/1d", "0/1d", "-1/1d", "+1/1d", "1.5/1d", "10 / 1d", "10,000/1d", "10/1d/1d", "10/0s",
      "10/99ms",
      "1000000001/1d", "99999999999999999999/1d", "10/200000d", "ten/1d", "10/1", " 10/1d", "\u{0661}/1d",
    ])
  func refused(text: String) { #expect(RequestBudget(text: text) == nil) }

  @Test("42 pages every 15 minutes are 4,032 requests a day; a number without end is refused")
  func perDay() {
    #expect(Duration.seconds(900).perDay(42) == 4032 && Duration.seconds(86_400 * 30).perDay(42) == 1)
    #expect(Duration.milliseconds(100).perDay(.max) == Int(Int32.max))
  }
}
