import FoundationEssentials
import RosterModel
import Testing

private let now = Date(timeIntervalSince1970: 784_111_777)

private func retryAfter(_ value: String, date: String? = nil) -> Duration? {
  let headers = [Request.Header("retry-after", value)] + (date.map { [Request.Header("Date", $0)] } ?? [])
  return Response(status: 429, headers: headers).retryAfter(now: now)
}

@Suite struct RetryAfterTests {
  @Test("An HTTP date is read")
  func httpDate() {
    #expect(Date(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT") == now)
    #expect(Date(httpDate: "Thu, 29 Feb 2024 00:00:00 GMT") == Date(timeIntervalSince1970: 1_709_164_800))
    #expect(Date(httpDate: "Sat, 01 Jan 2000 00:00:00 GMT") == Date(timeIntervalSince1970: 946_684_800))
  }

  @Test(
    "A text without an HTTP date is refused",
    arguments: [
      "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
      "Sun, 06 Nov 1994 08:49 GMT",
    ])
  func noDate(text: String) {
    #expect(Date(httpDate: text) == nil)
  }

  @Test("P11.7: Retry-After is seconds, or a date relative to the answer's own Date")
  func forms() {
    #expect(retryAfter("7") == .seconds(7))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:47 GMT") == .seconds(10))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:47 GMT", date: "Sun, 06 Nov 1994 08:49:40 GMT") == .seconds(7))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:30 GMT") == .zero)
  }

  @Test("P11.12: seconds may have any number of digits (RFC 9110 §10.2.3), and a time is a day at most")
  func digits() {
    for text in ["9223372036854775808", String(repeating: "9", count: 400)] {
      #expect(retryAfter(text) == .seconds(86400))
    }
    #expect(retryAfter("1763769600") == .seconds(86400))
    #expect(retryAfter("Sun, 06 Nov 2044 08:49:47 GMT") == .seconds(86400))
    #expect(retryAfter(String(repeating: "0", count: 30) + "7") == .seconds(7))
  }

  @Test("P11.7: an unreadable Retry-After is ignored", arguments: ["-1", "+1", "", "soon", "1.5", "7 "])
  func unreadable(text: String) {
    #expect(retryAfter(text) == nil)
  }

  private func answer(_ status: Int, headers: [String: String]) -> Response {
    Response(status: status, headers: headers.map { Request.Header($0.key, $0.value) })
  }

  @Test("P11.6: a rate limit is 429, or 403 with a header that no requests remain")
  func rateLimits() {
    #expect(answer(429, headers: [:]).isRateLimit && answer(403, headers: ["X-RateLimit-Remaining": "0"]).isRateLimit)
    for name in ["ratelimit-remaining", "RateLimit-Remaining", "x-ratelimit-remaining", "X-App-RateLimit-Remaining"] {
      #expect(answer(403, headers: [name: "0"]).isSpent, "\(name)")
    }
    for (name, value) in [
      ("x-ratelimit-remaining", "1"), ("x-ratelimit-remaining", ""), ("x-ratelimit-remaining", "none"),
      ("x-ratelimit-remaining", "-0"), ("x-ratelimit-limit", "0"), ("Retry-After", "7"),
      ("notratelimit-remaining", "0"),
    ] { #expect(!answer(403, headers: [name: value]).isRateLimit, "\(name): \(value)") }
    #expect(!answer(503, headers: ["x-ratelimit-remaining": "0"]).isRateLimit && !answer(429, headers: [:]).isSpent)
  }

  @Test(
    "P11.8, P11.12: a rate limit's reset is seconds since 1970, or from now if below 10^9; a day at most",
    arguments: [
      ("1784111777", Duration.seconds(86400)), ("60", .seconds(60)), ("0", .zero), ("1.5", .milliseconds(1500)),
      ("999999999", .seconds(86400)), ("1000000000", .seconds(86400)), ("99999999999999999999999999", .seconds(86400)),
    ])
  func reset(value: String, wait: Duration) {
    let pause = answer(429, headers: ["x-ratelimit-reset": value]).pause(now: now)
    #expect(pause?.duration == wait && pause?.header == "ratelimit-reset")
  }

  @Test("P11.8: a reset is relative to the answer's own Date; a past one is no wait")
  func resetMoment() {
    let today = Date(timeIntervalSince1970: 1_700_000_000)
    let reset = ["ratelimit-reset": "1700000090"]
    #expect(answer(429, headers: reset).pause(now: today)?.duration == .seconds(90))
    let ahead = reset.merging(["Date": (today + 60).httpDate]) { $1 }
    #expect(answer(429, headers: ahead).pause(now: today)?.duration == .seconds(30))
    #expect(answer(429, headers: reset).pause(now: today + 3600)?.duration == .zero)
  }

  @Test("P11.7: Retry-After precedes the reset, which applies to rate limits only; the last of several headers applies")
  func whichHeader() {
    let both = ["Retry-After": "7", "x-ratelimit-reset": "60", "x-ratelimit-remaining": "0"]
    #expect(answer(429, headers: both).pause(now: now)?.duration == .seconds(7))
    #expect(answer(403, headers: both.filter { $0.key != "Retry-After" }).pause(now: now)?.duration == .seconds(60))
    #expect(answer(503, headers: ["x-ratelimit-reset": "60"]).pause(now: now) == nil)
    #expect(answer(403, headers: ["x-ratelimit-reset": "60", "x-ratelimit-remaining": "1"]).pause(now: now) == nil)
    #expect(
      answer(429, headers: ["Retry-After": "soon", "x-ratelimit-reset": "60"]).pause(now: now)?.duration == .seconds(60)
    )
    #expect(
      answer(429, headers: ["ratelimit-reset": "30", "x-ratelimit-reset": "60"]).pause(now: now)?.duration
        == .seconds(60))
    for unreadable in ["", "soon", "-1", "inf", "nan", "1e3", "1.2.3"] {
      #expect(answer(429, headers: ["x-ratelimit-reset": unreadable]).pause(now: now) == nil, "\(unreadable)")
    }
  }
}
