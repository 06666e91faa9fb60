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

extension Date {
  /// An HTTP date in the form that is sent today, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
  package init?(httpDate text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let month = Self.months.firstIndex(of: String(parts[2])) else {
      return nil
    }
    let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
    guard let day = Int(parts[1]), let year = Int(parts[3]), clock.count == 3, let hour = clock[0],
      let minute = clock[1],
      let second = clock[2], (1...31).contains(day), (1...9999).contains(year), (0..<24).contains(hour),
      (0..<60).contains(minute), (0...60).contains(second)
    else { return nil }
    let days = Self.daysFromEpoch(year: year, month: month + 1, day: day)
    self.init(timeIntervalSince1970: Double(days * 86400 + hour * 3600 + minute * 60 + second))
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Of the proleptic Gregorian calendar, which FoundationEssentials' Calendar would take microseconds for.
  private static func daysFromEpoch(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
