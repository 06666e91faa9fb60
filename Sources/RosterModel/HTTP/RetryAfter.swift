package import FoundationEssentials

/// The pause that an answer asks for before further requests (P11).
extension Response {
  /// True if upstream permits no further request for now: 429, or a 403 that says so.
  package var isRateLimit: Bool { status == 429 || isSpent }

  /// True for a 403 with a readable Retry-After, or because no permitted request remains. It is neither a lack of
  /// rights nor the end of a session.
  package var isSpent: Bool {
    status == 403 && (!retryPauses.isEmpty || RateLimit.all(in: headers).contains(where: \.isSpent))
  }

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
  /// day, so that a server's mistake silences rosterd for no longer (P11).
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
