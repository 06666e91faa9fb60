package import FoundationEssentials
import Glibc

extension Date {
  /// Reads a time in one of the forms that people write; nil for anything else:
  /// - RFC 3339 with any offset: `2026-11-21T05:19:03Z`;
  /// - a date, which means its first moment in UTC;
  /// - an age: `2h`.
  package init?(pointInTime text: String, now: Date) {
    if let ago = Duration(text: text) {
      self = now.addingTimeInterval(-ago.seconds)
    } else {
      let time = Array(text.utf8).withUnsafeBufferPointer { Timestamp($0, form: .rfc3339, zone: nil) }
      // A time of day without a zone may be meant as a local one.
      guard let time, time.hasZone || time.isDay else { return nil }
      self.init(timeIntervalSince1970: Double(time.value) / Double(Timestamp.second))
    }
  }
}

extension Duration {
  /// Reads a number and a unit: `500ms`, `1.5s`, `15m`, `2h`, `90d`. nil for anything else, negative or beyond 100
  /// years included.
  package init?(text: some StringProtocol) {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = text.dropFirst(number.count)
    guard let seconds = Self.units.first(where: { $0.name == unit })?.seconds,
      number.first?.isNumber == true, number.last?.isNumber == true,
      let value = Double(number), value * seconds <= Self.longest
    else { return nil }
    self = .milliseconds((value * seconds * 1000).rounded())
  }

  /// The shortest text from which `init(text:)` makes the same duration, to the millisecond.
  package var text: String {
    let milliseconds = Int64((seconds * 1000).rounded())
    for (name, unit) in Self.units.reversed() {
      let step = Int64(unit * 1000)
      if milliseconds != 0, milliseconds % step == 0 { return "\(milliseconds / step)\(name)" }
    }
    return "0s"
  }

  private static let units: [(name: String, seconds: Double)] = [
    ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400),
  ]
  private static let longest = 100 * 365.25 * 86400
}

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
    let days = CivilDate.days(
      Int64(parts[2].count == 2 ? Self.fullYear(year) : year), month: Int64(month + 1), day: Int64(day))
    self.init(timeIntervalSince1970: Double(Int(days) * 86400 + hour * 3600 + minute * 60 + second))
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Years of two digits are in 1970 to 2069: no server of today means an earlier one.
  private static func fullYear(_ twoDigits: Int) -> Int { twoDigits < 70 ? 2000 + twoDigits : 1900 + twoDigits }
}
