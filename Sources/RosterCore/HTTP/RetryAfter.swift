package import FoundationEssentials

/// The pause that an answer asks for before further requests.
extension Response {
  /// True if upstream permits no further request for now: 429, or another refusal that has a readable Retry-After or
  /// names a rate limit. 401, 404 and 410 are about the token and the address.
  package var isRateLimit: Bool {
    switch status {
    case 429: true
    case 401, 404, 410: false
    case 400..<500: isSpent || !retryPauses.isEmpty || namesRateLimit
    case _: false
    }
  }

  /// True for a 403 with a readable Retry-After, or if headers or the body say that no permitted request remains. It is
  /// neither a lack of rights nor the end of a session. The body of a 400 may say it too.
  package var isSpent: Bool {
    switch status {
    case 400: namesRateLimit
    case 403: !retryPauses.isEmpty || RateLimit.all(in: headers).contains(where: \.isSpent) || namesRateLimit
    case _: false
    }
  }

  /// True if the body names a rate limit (Google's `rateLimitExceeded`, GitHub's secondary limits).
  package var namesRateLimit: Bool {
    let letters = String(decoding: body.prefix(4096), as: UTF8.self).lowercased().filter(\.isLetter)
    return Self.limitWords.contains { letters.contains($0) }
  }

  /// A member such as `rateLimit`, which only tells the limits, is not among them.
  private static let limitWords = [
    "ratelimitexceeded", "ratelimitreached", "ratelimited", "secondaryratelimit", "exceededratelimit",
    "exceededtheratelimit", "exceededyourratelimit", "toomanyrequests", "quotaexceeded", "requestlimitexceeded",
    "throttleviolation", "throttlingexception", "requestthrottled", "rateexceeded", "requestlimitreached",
    "overqueriespersecond", "codethrottled",
  ]

  /// The pause that upstream asks for, and the header that has it, or `body`. It is Retry-After, or the reset time of a
  /// rate limit; nil without one. At most one day.
  /// - Parameter isRateLimit: nil to decide it by the status.
  package func pause(now: Date, isRateLimit: Bool? = nil) -> (duration: Duration, header: String)? {
    let asked = retryAfter(now: now)
    guard isRateLimit ?? self.isRateLimit else { return asked.map { ($0, "Retry-After") } }
    // Some servers round a pause below a second down.
    if let asked, asked > .zero { return (asked, "Retry-After") }
    let limits = RateLimit.all(in: headers)
    let spent = limits.filter(\.isSpent).flatMap(\.resets)
    let reset = longest(of: spent.isEmpty ? limits.flatMap(\.resets) : spent, now: now)
    if let reset { return (reset, "ratelimit-reset") }
    if let told = longest(of: PauseValue.all(inBody: body), now: now) { return (told, "body") }
    return asked.map { ($0, "Retry-After") }
  }

  /// A clause for people: `, and wants no request for 30 s (Retry-After)`; empty if the answer asks for no pause.
  package func pauseClause(now: Date) -> String {
    pause(now: now).map { ", and wants no request for \(Int($0.duration.seconds.rounded(.up))) s (\($0.header))" } ?? ""
  }

  /// The pause of Retry-After, counted from the answer's Date if it has one; nil if absent or unreadable. At most one
  /// day, so that a server's mistake silences rosterd for no longer.
  package func retryAfter(now: Date) -> Duration? { longest(of: retryPauses, now: now) }

  /// The values of Retry-After and its variants, such as `retry-after-ms`.
  private var retryPauses: [PauseValue] {
    headers.flatMap { header -> [PauseValue] in
      let words = HeaderWords(header.name)
      return words.has(["retry", "after"]) ? PauseValue.all(in: header.value, unit: words.unit) : []
    }
  }

  /// The largest of several values counts.
  private func longest(of values: [PauseValue], now: Date) -> Duration? {
    let sentAt = self["Date"].flatMap(Date.init(httpDate:)) ?? now
    return values.map { $0.pause(from: sentAt) }.max()
  }
}

/// The `[retry]` settings: the delays before a request is retried.
package struct RetryDelays: Sendable, Equatable {
  /// Maximum number of retries of one request, 0 to 20.
  package var maxRetries: Int
  /// Delay before the first retry; it doubles with each further one.
  package var base: Duration
  /// Upper bound for the doubled delay; at least `base`.
  package var max: Duration
  /// Maximum random addition to each delay.
  package var jitter: Duration
  /// Maximum Retry-After that a sync waits for.
  package var maxRetryAfter: Duration

  /// The defaults are those of rosterd.toml(5).
  package init(
    maxRetries: Int = 3, base: Duration = .seconds(1), max: Duration = .seconds(10),
    jitter: Duration = .milliseconds(500), maxRetryAfter: Duration = .seconds(120)
  ) {
    self.maxRetries = maxRetries
    self.base = base
    self.max = max
    self.jitter = jitter
    self.maxRetryAfter = maxRetryAfter
  }

  /// The delay after a failed attempt (the first one is 1), at least Retry-After; nil if there is no further attempt.
  /// `random` is a number in 0..<1.
  package func delay(afterAttempt attempt: Int, retryAfter: Duration?, random: Double) -> Duration? {
    guard attempt <= maxRetries, (retryAfter ?? .zero) <= maxRetryAfter else { return nil }
    // Further doubling could overflow, and `max` limits the delay long before.
    let doubled = base * (1 << Swift.min(attempt - 1, 30))
    return Swift.max(Swift.min(doubled, max), retryAfter ?? .zero) + jitter * random
  }
}
