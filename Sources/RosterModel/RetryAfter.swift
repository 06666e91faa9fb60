package import FoundationEssentials

extension Response {
  /// Retry-After in seconds or as a date (RFC 9110 §10.2.3), counted from the answer's Date where there is one; nil
  /// where absent or unreadable. At most a day: a server that sends seconds since 1970 must not silence rosterd for
  /// years (P11).
  package func retryAfter(now: Date) -> Duration? {
    guard let text = self["Retry-After"] else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) {
      // More digits than an Int takes are a number too.
      return .seconds(min(Int(text) ?? Self.longest, Self.longest))
    }
    guard let date = Date(httpDate: text) else { return nil }
    let sent = self["Date"].flatMap(Date.init(httpDate:)) ?? now
    return .seconds(min(max(0, date.timeIntervalSince(sent)), Double(Self.longest)))
  }

  private static let longest = Int(RetryAfterHold.longest.seconds)
}
