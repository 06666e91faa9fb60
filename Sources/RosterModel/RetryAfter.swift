package import FoundationEssentials

/// When upstream takes requests again, as an answer tells it (P11).
extension Response {
  /// Upstream permits no further request for now: 429, or 403 with `…ratelimit-remaining: 0`.
  package var isRateLimit: Bool { status == 429 || isSpent }

  /// 403 because none of the permitted requests remain: neither a lack of rights nor the end of a session.
  package var isSpent: Bool { status == 403 && rateLimits("remaining").contains(0) }

  /// How long upstream wants no request, and the header that says so: Retry-After, else, of a rate limit, its reset;
  /// nil where neither is there or readable. At most a day.
  package func pause(now: Date) -> (duration: Duration, header: String)? {
    if let asked = retryAfter(now: now) { return (asked, "Retry-After") }
    guard isRateLimit else { return nil }
    // Of several limits the last to end counts.
    let waits = rateLimits("reset").map { $0 < Self.leastMoment ? $0 : $0 - sentAt(now).timeIntervalSince1970 }
    return waits.max().map { (Self.atMostADay($0), "ratelimit-reset") }
  }

  /// For people: `, and wants no request for 30 s (Retry-After)`; empty where it says nothing of that.
  package func pauseClause(now: Date) -> String {
    pause(now: now).map { ", and wants no request for \(Int($0.duration.seconds.rounded(.up))) s (\($0.header))" } ?? ""
  }

  /// Retry-After in seconds or as a date (RFC 9110 §10.2.3), counted from the answer's Date where there is one; nil
  /// where absent or unreadable. At most a day: a server that sends seconds since 1970 must not silence rosterd for
  /// years (P11).
  package func retryAfter(now: Date) -> Duration? {
    guard let text = self["Retry-After"] else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
      // More digits than an Int takes are a number too.
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
  /// A reset from here on is a moment, in seconds since 1970 (2001-09-09); below, seconds from now.
  private static let leastMoment = 1e9
}
