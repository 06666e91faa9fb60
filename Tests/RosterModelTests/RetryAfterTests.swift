import FoundationEssentials
import RosterModel
import Testing

private let now = Date(timeIntervalSince1970: 784_111_777)

private func retryAfter(_ value: String, date: String? = nil) -> Duration? {
  let headers = [Request.Header("retry-after", value)] + (date.map { [Request.Header("Date", $0)] } ?? [])
  return Response(status: 429, headers: headers).retryAfter(now: now)
}

@Suite struct RetryAfterTests {
  @Test("an HTTP date is read")
  func httpDate() {
    #expect(Date(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT") == now)
    #expect(Date(httpDate: "Thu, 29 Feb 2024 00:00:00 GMT") == Date(timeIntervalSince1970: 1_709_164_800))
    #expect(Date(httpDate: "Sat, 01 Jan 2000 00:00:00 GMT") == Date(timeIntervalSince1970: 946_684_800))
  }

  @Test(
    "what is no HTTP date is not",
    arguments: [
      "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
      "Sun, 06 Nov 1994 08:49 GMT",
    ])
  func noDate(text: String) {
    #expect(Date(httpDate: text) == nil)
  }

  @Test("P11: Retry-After is seconds, or a date counted from the answer's own Date")
  func forms() {
    #expect(retryAfter("7") == .seconds(7))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:47 GMT") == .seconds(10))
    #expect(
      retryAfter("Sun, 06 Nov 1994 08:49:47 GMT", date: "Sun, 06 Nov 1994 08:49:40 GMT") == .seconds(7))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:30 GMT") == .zero)
  }

  @Test("P11: seconds have any number of digits (RFC 9110 §10.2.3), and a time further than a day is a day")
  func digits() {
    for text in ["9223372036854775808", String(repeating: "9", count: 400)] {
      #expect(retryAfter(text) == .seconds(86400))
    }
    #expect(retryAfter("1763769600") == .seconds(86400))
    #expect(retryAfter("Sun, 06 Nov 2044 08:49:47 GMT") == .seconds(86400))
    #expect(retryAfter(String(repeating: "0", count: 30) + "7") == .seconds(7))
  }

  @Test("P11: an unreadable Retry-After is none", arguments: ["-1", "+1", "", "soon", "1.5", "7 "])
  func unreadable(text: String) {
    #expect(retryAfter(text) == nil)
  }
}
