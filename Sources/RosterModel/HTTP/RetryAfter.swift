package import FoundationEssentials

/// The pause that an answer asks for before further requests (P11).
extension Response {
  /// True if upstream permits no further request for now: 429, or 403 with `…ratelimit-remaining: 0`.
  package var isRateLimit: Bool { status == 429 || isSpent }

  /// True for a 403 because no permitted request remains, which is neither a lack of rights nor the end of a session.
  package var isSpent: Bool { status == 403 && rateLimits("remaining").contains(0) }

  /// The pause that upstream asks for, and the header with it: Retry-After, or for a rate limit its reset time.
  /// nil if no such header is present and readable. At most one day.
  package func pause(now: Date) -> (duration: Duration, header: String)? {
    if let asked = retryAfter(now: now) { return (asked, "Retry-After") }
    guard isRateLimit else { return nil }
    // If there are several limits, the one that ends last applies.
    let waits = rateLimits("reset").map { $0 < Self.minMoment ? $0 : $0 - sentAt(now).timeIntervalSince1970 }
    return waits.max().map { (Self.atMostADay($0), "ratelimit-reset") }
  }

  /// A clause for people: `, and wants no request for 30 s (Retry-After)`; empty if the answer asks for no pause.
  package func pauseClause(now: Date) -> String {
    pause(now: now).map { ", and wants no request for \(Int($0.duration.seconds.rounded(.up))) s (\($0.header))" } ?? ""
  }

  /// Retry-After in seconds or as a date (RFC 9110 §10.2.3), counted from the answer's Date if it has one; nil if
  /// absent or unreadable. At most one day: a server that mistakenly sends seconds since 1970 must not silence rosterd
  /// for years (P11).
  package func retryAfter(now: Date) -> Duration? {
    guard let text = self["Retry-After"] else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
      // A number that is too large for an Int is still a number.
      return .seconds(min(Int(text) ?? Self.longest, Self.longest))
    }
    return Date(httpDate: text).map { Self.atMostADay($0.timeIntervalSince(sentAt(now))) }
  }

  private func sentAt(_ now: Date) -> Date { self["Date"].flatMap(Date.init(httpDate:)) ?? now }

  /// The numbers of the headers `ratelimit-NAME`, `x-ratelimit-NAME` and their like.
  private func rateLimits(_ name: String) -> [Double] {
    headers.compactMap { header in
      let full = header.name.lowercased()
      guard full == "ratelimit-\(name)" || full.hasSuffix("-ratelimit-\(name)"),
        header.value.utf8.first?.isDigit == true,
        header.value.utf8.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") })
      else { return nil }
      return Double(header.value)
    }
  }

  private static func atMostADay(_ seconds: Double) -> Duration { .seconds(min(max(0, seconds), Double(longest))) }

  private static let longest = Int(RetryAfterHold.longest.seconds)
  /// A reset value from this size on is a time in seconds since 1970 (2001-09-09); a smaller one is a number of seconds
  /// from now.
  private static let minMoment = 1e9
}
