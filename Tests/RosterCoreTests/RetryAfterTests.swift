import FoundationEssentials
import RosterCore
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

  @Test("25: Retry-After is seconds, or a date relative to the answer's own Date")
  func forms() {
    #expect(retryAfter("7") == .seconds(7))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:47 GMT") == .seconds(10))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:47 GMT", date: "Sun, 06 Nov 1994 08:49:40 GMT") == .seconds(7))
    #expect(retryAfter("Sun, 06 Nov 1994 08:49:30 GMT") == .zero)
  }

  @Test("25: seconds may have any number of digits (RFC 9110 §10.2.3), and a time is a day at most")
  func digits() {
    for text in ["9223372036854775808", String(repeating: "9", count: 400)] {
      #expect(retryAfter(text) == .seconds(86400))
    }
    #expect(retryAfter("1763769600") == .seconds(86400))
    #expect(retryAfter("Sun, 06 Nov 2044 08:49:47 GMT") == .seconds(86400))
    #expect(retryAfter(String(repeating: "0", count: 30) + "7") == .seconds(7))
  }

  @Test("25: an unreadable Retry-After is ignored", arguments: ["-1", "+1", "", "soon", "1e3", "1.2.3", "7 x"])
  func unreadable(text: String) {
    #expect(retryAfter(text) == nil)
  }

  private func answer(_ status: Int, headers: [String: String]) -> Response {
    Response(status: status, headers: headers.map { Request.Header($0.key, $0.value) })
  }

  @Test(
    "25: a 403 or 400 whose text says that a limit is exceeded is a rate limit",
    arguments: [
      (#"{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}"#, true),
      (#"{"message":"You have exceeded a secondary rate limit"}"#, true), ("<h1>Too Many Requests</h1>", true),
      (#"{"message":"Forbidden","rateLimit":{"remaining":4999}}"#, false), (#"{"message":"no right"}"#, false),
      (#"{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}"#, true),
      (#"{"message":"no right","throttled":false,"queriesPerSecond":10}"#, false),
    ])
  func limitWords(body: String, isSpent: Bool) {
    #expect(Response(status: 403, body: Array(body.utf8)).isSpent == isSpent)
    #expect(Response(status: 400, body: Array(body.utf8)).isSpent == isSpent)
    #expect(!Response(status: 404, body: Array(body.utf8)).isSpent)
  }

  @Test(
    "25: the pause is in the body if no header has one",
    arguments: [
      (#"{"message":"You are being rate limited.","retry_after":1.5}"#, Duration.milliseconds(1500)),
      (#"{"parameters":{"retry_after":3}}"#, .seconds(3)), (#"{"retryAfterMs": "2500"}"#, .milliseconds(2500)),
      (#"{"error":{"details":[{"@type":"RetryInfo","retryDelay":"3s"}]}}"#, .seconds(3)),
      (#"{"retry-after":"Sun, 06 Nov 1994 08:49:47 GMT"}"#, .seconds(10)),
      ("Please retry after 3 seconds.", .seconds(3)),
      (#"{"message":"Try again in 2 minutes"}"#, .seconds(120)), (#"{"retry_after":null,"backoff":10}"#, .seconds(10)),
      (#"{"message":"Complexity budget exhausted, reset in 3 seconds"}"#, .seconds(3)),
    ])
  func pauseInBody(body: String, pause: Duration) {
    let response = Response(status: 429, body: Array(body.utf8))
    #expect(response.pause(now: now)?.duration == pause && response.pause(now: now)?.header == "body")
    let told = Response(status: 429, headers: [.init("Retry-After", "7")], body: Array(body.utf8))
    #expect(told.pause(now: now)?.duration == .seconds(7))
    #expect(Response(status: 404, body: Array(body.utf8)).pause(now: now) == nil)
  }

  @Test(
    "25: no pause is read out of other words",
    arguments: [#"{"retry":3}"#, "try again later", "retry after 3 fish", ""])
  func noPauseInBody(body: String) {
    #expect(Response(status: 429, body: Array(body.utf8)).pause(now: now) == nil)
  }

  @Test("25: a refusal with a readable Retry-After is a rate limit, unless it is about the address or the token")
  func refusals() {
    for status in [400, 402, 409, 418, 420, 422] {
      #expect(answer(status, headers: ["Retry-After": "4"]).isRateLimit, "\(status)")
      #expect(!answer(status, headers: [:]).isRateLimit, "\(status)")
    }
    for status in [200, 401, 404, 410, 503] {
      #expect(!answer(status, headers: ["Retry-After": "4"]).isRateLimit, "\(status)")
    }
    let rounded = answer(429, headers: ["Retry-After": "0", "X-RateLimit-Reset": "3"])
    #expect(rounded.pause(now: now)?.duration == .seconds(3))
  }

  @Test("25: a rate limit is 429, or 403 with a readable Retry-After or a header that no requests remain")
  func rateLimits() {
    #expect(answer(429, headers: [:]).isRateLimit && answer(403, headers: ["X-RateLimit-Remaining": "0"]).isRateLimit)
    for name in ["ratelimit-remaining", "RateLimit-Remaining", "x-ratelimit-remaining", "X-App-RateLimit-Remaining"] {
      #expect(answer(403, headers: [name: "0"]).isSpent, "\(name)")
    }
    for (name, value) in [
      ("x-ratelimit-remaining", "1"), ("x-ratelimit-remaining", ""), ("x-ratelimit-remaining", "none"),
      ("x-ratelimit-remaining", "-0"), ("x-ratelimit-limit", "0"), ("Retry-After", "soon"),
      ("notratelimit-remaining", "0"),
    ] { #expect(!answer(403, headers: [name: value]).isRateLimit, "\(name): \(value)") }
    #expect(answer(403, headers: ["x-ratelimit-remaining": "4990", "retry-after": "60"]).isSpent)
    #expect(answer(403, headers: ["RateLimit": #""default";r=0;t=8"#]).isSpent)
    #expect(!answer(403, headers: ["RateLimit": #""default";r=1;t=8"#]).isSpent)
    #expect(!answer(503, headers: ["x-ratelimit-remaining": "0"]).isRateLimit && !answer(429, headers: [:]).isSpent)
  }

  @Test(
    "25: a rate limit's reset is seconds since 1970, or from now if below 10^9; a day at most",
    arguments: [
      ("1784111777", Duration.seconds(86400)), ("60", .seconds(60)), ("0", .zero), ("1.5", .milliseconds(1500)),
      ("999999999", .seconds(86400)), ("1000000000", .seconds(86400)), ("99999999999999999999999999", .seconds(86400)),
    ])
  func reset(value: String, wait: Duration) {
    let pause = answer(429, headers: ["x-ratelimit-reset": value]).pause(now: now)
    #expect(pause?.duration == wait && pause?.header == "ratelimit-reset")
  }

  @Test("25: a reset is relative to the answer's own Date; a past one is no wait")
  func resetMoment() {
    let today = Date(timeIntervalSince1970: 1_700_000_000)
    let reset = ["ratelimit-reset": "1700000090"]
    #expect(answer(429, headers: reset).pause(now: today)?.duration == .seconds(90))
    let ahead = reset.merging(["Date": (today + 60).httpDate]) { $1 }
    #expect(answer(429, headers: ahead).pause(now: today)?.duration == .seconds(30))
    #expect(answer(429, headers: reset).pause(now: today + 3600)?.duration == .zero)
  }

  @Test("25: Retry-After precedes the reset, which applies to rate limits only; the last of several headers applies")
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

  /// 2026-11-22 12:00 UTC
  private static let noon = Date(timeIntervalSince1970: 1_795_348_800)

  /// The pause in seconds of a 429 with these headers; nil for none.
  private static func pause(_ headers: [(String, String)]) -> Double? {
    let response = Response(status: 429, headers: headers.map { Request.Header($0.0, $0.1) })
    return response.pause(now: noon)?.duration.seconds
  }

  @Test(
    "25: the dialects of rate limits",
    arguments: [
      // RFC 9110, Shopify, and servers with several limiters
      ("Retry-After: 120", 120), ("Retry-After: 2.0", 2), ("Retry-After: 12.5", 12.5), ("Retry-After: 9, 2", 9),
      ("Retry-After: 2|Retry-After: 9", 9), ("Retry-After: soon, 9", 9), ("Retry-After: 30 seconds", 30),
      ("Retry-After: Sun, 22 Nov 2026 12:01:30 GMT", 90), ("Retry-After: 2026-11-22T12:01:30Z", 90),
      // Cloud Foundry sends the time of the reset, and others the same in milliseconds
      ("Retry-After: 1795348890", 90), ("Retry-After: 1795348890000", 90),
      ("retry-after-ms: 1500", 1.5), ("x-ms-retry-after-ms: 250", 0.25), ("X-Retry-After: 7", 7),
      ("X-RateLimit-Retry-After-Seconds: 7", 7), ("Retry-After: 3000000", 3000),
      // GitHub, Okta and Twitter, Reddit, Discord, GitLab, Vimeo
      ("X-RateLimit-Remaining: 0|X-RateLimit-Reset: 1795348890", 90), ("X-Rate-Limit-Reset: 1795348890", 90),
      ("x_rate_limit_reset: 60", 60), ("x-ratelimit-reset: 254.5", 254.5),
      ("X-RateLimit-Reset-After: 1.25", 1.25), ("X-RateLimit-Reset: 1795348890.500", 90.5),
      ("RateLimit-ResetTime: Sun, 22 Nov 2026 12:00:20 GMT", 20), ("X-RateLimit-Reset: 2026-11-22T13:00:20+01:00", 20),
      ("X-RateLimit-Reset: 2026-11-22 12:00:20 UTC", 20), ("X-RateLimit-Reset: 2026-11-22 12:00:20 +0000", 20),
      // milliseconds, microseconds and nanoseconds since 1970, and from now
      ("X-RateLimit-Reset: 1795348890000", 90), ("X-RateLimit-Reset: 1795348890000000", 90),
      ("X-RateLimit-Reset: 1795348890000000000", 90), ("X-RateLimit-Reset-Ms: 1500", 1.5),
      ("X-RateLimit-Reset: 1795348890|X-RateLimit-Reset: 1795348890", 90), ("X-RateLimit-Reset: 8, 60", 60),
      // OpenAI, Anthropic, RapidAPI, Linear
      (
        "x-ratelimit-remaining-tokens: 0|x-ratelimit-reset-tokens: 6m0s|x-ratelimit-remaining-requests: 5|x-ratelimit-reset-requests: 9h",
        360
      ),
      ("x-ratelimit-reset-requests: 120ms", 0.12), ("anthropic-ratelimit-requests-reset: 2026-11-22T12:00:20Z", 20),
      ("x-ratelimit-requests-remaining: 0|x-ratelimit-requests-reset: 2591999", 86400),
      // The drafts of the RateLimit header, and Zendesk
      (#"RateLimit: "default";r=0;t=8|RateLimit-Policy: "default";q=3;w=12"#, 8),
      (#"RateLimit: "day";r=900;t=4000, "minute";r=0;t=8"#, 8), (#"RateLimit: "a";r=0;t=8, "b";r=0;t=60"#, 60),
      ("RateLimit: limit=100, remaining=0, reset=8", 8), ("ratelimit-limit: 100, 100;w=60|ratelimit-reset: 8", 8),
      ("zendesk-ratelimit-tickets-index: total=100; remaining=0; resets=41", 41),
      // Retry-After precedes, and headers without a time say nothing
      ("Retry-After: 7|X-RateLimit-Remaining: 0|X-RateLimit-Reset: 60", 7), ("X-RateLimit-Limit: 100", nil),
      ("X-RateLimit-Interval-Seconds: 60", nil), ("X-RateLimit-Reset: never", nil), ("RateLimit: default", nil),
    ] as [(String, Double?)])
  func dialects(headers: String, seconds: Double?) {
    let pairs = headers.split(separator: "|").map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (String(parts[0]), String(parts[1].drop { $0 == " " }))
    }
    // Sums of fractions are not exact.
    #expect(Self.pause(pairs).map { ($0 * 1e6).rounded() } == seconds.map { ($0 * 1e6).rounded() })
  }
}
