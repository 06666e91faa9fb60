package import FoundationEssentials
import Glibc

extension Date {
  /// The date in the form `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
  package var httpDate: String {
    var seconds = time_t(timeIntervalSince1970.rounded(.down))
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(parts.tm_wday)]
    let month = Self.months[Int(parts.tm_mon)]
    let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(Self.twoDigits).joined(separator: ":")
    return "\(day), \(Self.twoDigits(parts.tm_mday)) \(month) \(1900 + parts.tm_year) \(time) GMT"
  }

  private static func twoDigits(_ number: Int32) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  /// Reads the three forms of RFC 9110 §5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`, RFC 850's, and asctime's.
  package init?(httpDate text: String) {
    var parts = text.split { " ,-:".contains($0) }.dropFirst().map(String.init)
    if parts.count == 6, Self.months.contains(parts[0]) {
      // asctime: month, day, time, year.
      parts = [parts[1], parts[0], parts[5], parts[2], parts[3], parts[4], "GMT"]
    }
    guard parts.count == 7, parts[6] == "GMT",
      let month = Self.months.firstIndex(of: parts[1]),
      let day = Int(parts[0]), (1...31).contains(day),
      let year = Int(parts[2]), (0...9999).contains(year),
      let hour = Int(parts[3]), (0...23).contains(hour),
      let minute = Int(parts[4]), (0...59).contains(minute),
      let second = Int(parts[5]), (0...60).contains(second)
    else { return nil }
    let days = Timestamp.days(
      Int64(parts[2].count == 2 ? Self.fullYear(year) : year), month: Int64(month + 1), day: Int64(day))
    self.init(timeIntervalSince1970: Double(Int(days) * 86400 + hour * 3600 + minute * 60 + second))
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Years of two digits are in 1970 to 2069: no server of today means an earlier one.
  private static func fullYear(_ twoDigits: Int) -> Int { twoDigits < 70 ? 2000 + twoDigits : 1900 + twoDigits }
}
