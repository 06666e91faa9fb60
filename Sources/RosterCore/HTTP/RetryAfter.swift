package import FoundationEssentials

/// The pause that an answer asks for before further requests.
extension Response {
  /// True if upstream permits no further request for now: 429, or a 403 that says so.
  package var isRateLimit: Bool { status == 429 || isSpent }

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
  private var namesRateLimit: Bool {
    let letters = String(decoding: body.prefix(4096), as: UTF8.self).lowercased().filter(\.isLetter)
    return Self.limitWords.contains { letters.contains($0) }
  }

  /// A member such as `rateLimit`, which only tells the limits, is not among them.
  private static let limitWords = [
    "ratelimitexceeded", "ratelimitreached", "ratelimited", "secondaryratelimit", "exceededratelimit",
    "exceededtheratelimit", "exceededyourratelimit", "toomanyrequests", "quotaexceeded", "requestlimitexceeded",
    "throttleviolation", "throttlingexception", "requestthrottled", "rateexceeded",
  ]

  /// The pause that upstream asks for, and the header with it: Retry-After, or for a rate limit its reset time.
  /// nil if no such header is present and readable. At most one day.
  package func pause(now: Date) -> (duration: Duration, header: String)? {
    if let asked = retryAfter(now: now) { return (asked, "Retry-After") }
    guard isRateLimit else { return nil }
    let limits = RateLimit.all(in: headers)
    let spent = limits.filter(\.isSpent).flatMap(\.resets)
    return longest(of: spent.isEmpty ? limits.flatMap(\.resets) : spent, now: now).map { ($0, "ratelimit-reset") }
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

/// A time before which upstream wants no page request, in the form that survives a restart.
package struct RetryAfterHold: Sendable, Equatable {
  /// Time of upstream's answer.
  package var setAt: Date
  /// End of the pause that upstream asked for.
  package var until: Date

  /// Upper bound for every pause, whatever upstream asked for or the file contains.
  package static let longest = Duration.seconds(86400)

  /// Rounding error, in seconds, of a time that was written to a file and read back.
  private static let precision = 0.001

  /// - Parameter until: the end of the pause. `remaining(at:)` limits it to one day after `setAt`.
  package init(setAt: Date, until: Date) {
    self.setAt = setAt
    self.until = until
  }

  /// The remaining pause; nil if it is over. Also nil if `setAt` is in the future, because then the clock was wrong.
  package func remaining(at now: Date) -> Duration? {
    guard setAt <= now + Self.precision else { return nil }
    let end = min(until, setAt + Self.longest.seconds)
    return end > now ? .seconds(end.timeIntervalSince(now)) : nil
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

/// The length or the end of a pause, as servers write it in a header.
enum PauseValue: Equatable {
  /// Seconds from the answer on.
  case length(Double)
  /// Seconds since 1970.
  case end(Double)

  /// Unit of a number without a unit of its own, in seconds.
  static let (seconds, milliseconds) = (1.0, 0.001)

  /// The readable values of a header: the whole value, or each value of a list.
  static func all(in text: String, unit: Double = seconds) -> [PauseValue] {
    if let value = PauseValue(text, unit: unit) { return [value] }
    return text.split(separator: ",").compactMap { PauseValue($0, unit: unit) }
  }

  /// Reads a number, a length with units (`1m30s`), an HTTP date, or a date of ISO 8601; nil for anything else.
  init?(_ text: some StringProtocol, unit: Double = seconds) {
    let text = text.trimmed
    if let number = Self.number(text) {
      self = Self(number: number, unit: unit)
    } else if let length = Self.length(text) {
      self = .length(length)
    } else if let date = Date(httpDate: text) ?? Self.isoDate(text) {
      self = .end(date.timeIntervalSince1970)
    } else {
      return nil
    }
  }

  /// A number that cannot be a length in seconds is one in milliseconds, or a date. Dates are in seconds since 1970, or
  /// in thousandths, millionths or billionths of a second.
  private init(number: Double, unit: Double) {
    switch number {
    case ...Self.maxSeconds where unit == Self.seconds: self = .length(number)
    case ..<1e9 where unit == Self.seconds: self = .length(number * Self.milliseconds)
    case ..<1e11 where unit == Self.milliseconds: self = .length(number * Self.milliseconds)
    case ..<1e11: self = .end(number)
    case ..<1e14: self = .end(number / 1e3)
    case ..<1e17: self = .end(number / 1e6)
    default: self = .end(number / 1e9)
    }
  }

  /// 32 days: the longest period of a quota is a month.
  private static let maxSeconds = 32.0 * 86400

  /// The pause from the time of the answer on: at least zero, and at most a day.
  func pause(from sentAt: Date) -> Duration {
    let seconds =
      switch self {
      case .length(let seconds): seconds
      case .end(let seconds): seconds - sentAt.timeIntervalSince1970
      }
    return .seconds(min(max(0, seconds), RetryAfterHold.longest.seconds))
  }

  // MARK: Reading

  /// Digits with an optional fraction, of any length.
  static func number(_ text: some StringProtocol) -> Double? {
    guard text.utf8.first?.isDigit == true, text.utf8.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") }) else {
      return nil
    }
    return Double(text)
  }

  /// `6s`, `1m30s`, `120ms` or `30 seconds`.
  private static func length(_ text: String) -> Double? {
    var (rest, sum) = (text[...], 0.0)
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(digits.count).drop { $0 == " " }
      let unit = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest.dropFirst(unit.count).drop { $0 == " " }
      guard let number = number(digits), let length = units[unit.lowercased()] else { return nil }
      sum += number * length
    }
    return text.isEmpty ? nil : sum
  }

  private static let units: [String: Double] = [
    "ms": 0.001, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60, "minute": 60,
    "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400,
  ]

  /// RFC 3339, also without an offset, with `UTC` as the offset, or with a space before the offset.
  private static func isoDate(_ text: String) -> Date? {
    var text = text
    for name in [" UTC", " GMT"] where text.hasSuffix(name) { text = text.dropLast(name.count) + "Z" }
    text = text.replacing(" +", with: "+").replacing(" -", with: "-")
    guard text.utf8.contains(UInt8(ascii: ":")), let mark = Mark(text, form: .rfc3339, zone: 0) else { return nil }
    return Date(timeIntervalSince1970: Double(mark.value) / 1e9)
  }
}
