package import FoundationEssentials
package import RosterModel

extension Response {
  /// Retry-After in seconds or as a date (RFC 9110 §10.2.3), counted from the answer's Date where there is one; nil where absent or unreadable.
  package func retryAfter(now: Date) -> Duration? {
    guard let text = self["Retry-After"] else { return nil }
    if let seconds = Int(text) { return seconds < 0 ? nil : .seconds(min(seconds, Self.longest)) }
    guard let date = Date(httpDate: text) else { return nil }
    let sent = self["Date"].flatMap(Date.init(httpDate:)) ?? now
    return .seconds(min(max(0, date.timeIntervalSince(sent)), Double(Self.longest)))
  }

  /// A century: beyond any limit, within any arithmetic.
  private static let longest = 100 * 366 * 86400
}
