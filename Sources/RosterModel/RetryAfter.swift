package import FoundationEssentials

extension Response {
  /// Retry-After in seconds or as a date (RFC 9110 §10.2.3), counted from the answer's Date where there is one; nil where absent or unreadable.
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

  /// A century: beyond any limit, within any arithmetic.
  private static let longest = 100 * 366 * 86400
}
