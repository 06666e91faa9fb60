import FoundationEssentials

/// A value of a record at `since.at`: upstream's text of it, and the number that it is compared by.
package struct Mark: Sendable, Equatable {
  /// Nanoseconds since 1970; the number itself with `form = "number"`.
  package let value: Int64
  /// The mark in the notation of upstream.
  package let text: String
  /// False for a time that has neither an offset nor a `Z`.
  package let hasZone: Bool

  /// Reads a value in that form. nil if it is not one.
  package init?(_ text: String, form: TimeForm, zone: LocalZone? = nil) {
    var copy = text
    guard let found = copy.withUTF8({ Timestamp($0, form: form, zone: zone) }) else { return nil }
    self.init(value: found.value, text: text, hasZone: found.hasZone)
  }

  /// A value in the notation of another text of the same form: zone, separator and number of digits. Rounds down.
  package init(_ value: Int64, like text: String, form: TimeForm, zone: LocalZone? = nil) {
    var copy = text
    let notation = copy.withUTF8 { Timestamp($0, form: form, zone: zone) }
    let written = notation?.written(value, like: text) ?? Timestamp.text(of: value, form)
    self.init(value: value, text: written, hasZone: notation?.hasZone ?? true)
  }

  private init(value: Int64, text: String, hasZone: Bool) {
    self.value = value
    self.text = text
    self.hasZone = hasZone
  }
}

/// Result of one pass over a value at `since.at`.
package struct Timestamp: Sendable, Equatable {
  /// Same as `Mark.value`.
  package internal(set) var value: Int64 = 0
  /// Same as `Mark.hasZone`.
  package private(set) var hasZone = true
  private let form: TimeForm
  /// Number of bytes before the fraction of a second.
  var whole = 0
  /// True for a date of RFC 3339 without a time of day.
  var isDay: Bool { whole == 10 }
  /// Number of digits of that fraction.
  private(set) var digits = 0
  /// Seconds east of Greenwich.
  var offset = 0
  /// False for a date with slashes, or a zone after a space, which RFC 3339 does not have.
  private var isStrict = true
  /// The zone of a time without one; nil if it is unknown, or if its offset is constant.
  private(set) var zone: LocalZone?

  /// Nanoseconds in a second.
  package static let second: Int64 = 1_000_000_000
  /// The whole years that `value` can represent.
  private static let years: ClosedRange<Int64> = 1678...2261

  /// Days since 1970. A date before those years is read as their first day, and a later one as their last. "0001-01-01"
  /// and "9999-12-31" are ways to write "never".
  static func represented(_ year: Int64, month: Int64, day: Int64) -> Int64 {
    if year < years.lowerBound { return CivilDate.days(years.lowerBound, month: 1, day: 1) }
    if year > years.upperBound { return CivilDate.days(years.upperBound, month: 12, day: 31) }
    return CivilDate.days(year, month: month, day: day)
  }

  /// The whole seconds of a time as a `value`, which is limited to the same years.
  static func seconds(of time: Date) -> Int64 {
    let first = represented(years.lowerBound, month: 1, day: 1) * 86_400
    let end = represented(years.upperBound, month: 12, day: 31) * 86_400 + 86_399
    return min(max(Int64(time.timeIntervalSince1970.rounded(.down)), first), end) * second
  }

  /// nil if the bytes are not a value of that form.
  /// - Parameter zone: The zone of a time without one; nil if unknown; UTC is used then.
  package init?(_ bytes: UnsafeBufferPointer<UInt8>, form: TimeForm, zone: LocalZone?) {
    self.form = form
    let isRead =
      switch form {
      case .rfc3339: readTime(bytes, zone: zone)
      case .unix: readNumber(bytes, unit: Self.second)
      case .unixMS: readNumber(bytes, unit: 1_000_000)
      case .number: readNumber(bytes, unit: 1)
      case .compact: readCompact(bytes, zone: zone)
      case .http: readHTTP(bytes)
      case .dotnet: readDotnet(bytes)
      }
    guard isRead else { return nil }
  }

  // MARK: Numbers

  private mutating func readNumber(_ bytes: UnsafeBufferPointer<UInt8>, unit: Int64) -> Bool {
    let isNegative = bytes.first == UInt8(ascii: "-")
    var at = isNegative ? 1 : 0
    let first = at
    while at < bytes.count, let digit = Self.digit(bytes[at]) {
      let (product, isOver) = value.multipliedReportingOverflow(by: 10)
      let (sum, isTooLarge) = product.addingReportingOverflow(digit)
      guard !isOver, !isTooLarge else { return false }
      value = sum
      at += 1
    }
    guard at > first else { return false }
    whole = at
    let (scaled, isOver) = value.multipliedReportingOverflow(by: unit)
    // The seconds of a year such as 9999.
    value = isOver ? .max : scaled
    if at < bytes.count {
      guard unit > 1, let (part, end) = fraction(bytes, start: at, of: unit), end == bytes.count else { return false }
      let (sum, isTooLarge) = value.addingReportingOverflow(part)
      value = isTooLarge ? .max : sum
    }
    if isNegative { value = -value }
    return true
  }

  /// A fraction of a unit, and where it ends.
  mutating func fraction(_ bytes: UnsafeBufferPointer<UInt8>, start: Int, of unit: Int64) -> (Int64, Int)? {
    guard bytes[start] == UInt8(ascii: ".") || bytes[start] == UInt8(ascii: ",") else { return nil }
    var (at, part, rest) = (start + 1, Int64(0), unit)
    while at < bytes.count, let digit = Self.digit(bytes[at]) {
      rest /= 10
      part += digit * rest
      at += 1
    }
    digits = at - start - 1
    return digits > 0 ? (part, at) : nil
  }

  static func digit(_ byte: UInt8) -> Int64? {
    (0x30...0x39).contains(byte) ? Int64(byte) - 0x30 : nil
  }

  // MARK: Times

  /// RFC 3339 §5.6, also without a zone, seconds or time, with a space for T, and with an offset without a colon. The
  /// date may have slashes. The zone may follow a space: Ruby writes `2026-05-01 10:00:00 UTC`.
  private mutating func readTime(_ bytes: UnsafeBufferPointer<UInt8>, zone: LocalZone?) -> Bool {
    func number(_ range: Range<Int>) -> Int64? {
      guard range.upperBound <= bytes.count else { return nil }
      return range.reduce(Int64?(0)) { sum, at in sum.flatMap { sum in Self.digit(bytes[at]).map { sum * 10 + $0 } } }
    }
    func has(_ byte: Unicode.Scalar, at place: Int) -> Bool {
      place < bytes.count && bytes[place] == UInt8(ascii: byte)
    }
    let hasSlashes = has("/", at: 4) && has("/", at: 7)
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      hasSlashes || has("-", at: 4) && has("-", at: 7), Self.isDate(year, month: month, day: day)
    else { return false }
    isStrict = !hasSlashes
    var seconds = Self.represented(year, month: month, day: day) * 86_400
    var at = 10
    whole = at
    var part: Int64 = 0
    if at < bytes.count {
      guard has("T", at: at) || has("t", at: at) || has(" ", at: at), let hour = number(11..<13), hour < 24,
        has(":", at: 13), let minute = number(14..<16), minute < 60
      else { return false }
      seconds += hour * 3600 + minute * 60
      at = 16
      if has(":", at: at) {
        guard let second = number(17..<19), second <= 60 else { return false }
        seconds += second
        at = 19
      }
      whole = at
      if at < bytes.count, let found = fraction(bytes, start: at, of: Self.second) { (part, at) = found }
    }
    if whole > 10, has(" ", at: at), at + 1 < bytes.count { (isStrict, at) = (false, at + 1) }
    guard readZone(bytes, start: at, zone: zone) else { return false }
    let time = self.zone?.time(ofLocal: seconds) ?? seconds - Int64(offset)
    value = time * Self.second + part
    return true
  }

  mutating func readZone(_ bytes: UnsafeBufferPointer<UInt8>, start: Int, zone: LocalZone?) -> Bool {
    let text = bytes[start...]
    guard let sign = text.first else {
      offset = zone?.firstOffset ?? 0
      if zone?.name != nil { self.zone = zone }
      hasZone = false
      return true
    }
    if text.count == 1 { return sign == UInt8(ascii: "Z") || sign == UInt8(ascii: "z") }
    if !isStrict, text.elementsEqual("UTC".utf8) || text.elementsEqual("GMT".utf8) { return true }
    guard whole > (form == .compact ? 8 : 10), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else {
      return false
    }
    let digits = text.dropFirst().compactMap(Self.digit)
    let hasColon = text.count == 6 && text[start + 3] == UInt8(ascii: ":")
    guard hasColon && digits.count == 4 || digits.count == text.count - 1 && [2, 4].contains(digits.count) else {
      return false
    }
    let hours = digits[0] * 10 + digits[1]
    let minutes = digits.count == 4 ? digits[2] * 10 + digits[3] : 0
    guard hours < 24, minutes < 60 else { return false }
    offset = Int(hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    return true
  }

  static func isDate(_ year: Int64, month: Int64, day: Int64) -> Bool {
    guard (1...12).contains(month), day >= 1 else { return false }
    return CivilDate.days(month == 12 ? year + 1 : year, month: month == 12 ? 1 : month + 1, day: 1)
      - CivilDate.days(year, month: month, day: 1) >= day
  }

  // MARK: Columns of the type timestamp

  /// True if the text is a time that PostgreSQL takes too: not before the year 1, and less than 16 hours from UTC.
  package static func isTime(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let time = Timestamp(text, form: .rfc3339, zone: nil), !text.starts(with: "0000".utf8) else { return false }
    return time.isStrict && abs(time.offset) < 16 * 3600
  }

  /// The same time as RFC 3339 writes it; nil if the text is no time. A time without a zone is one of UTC.
  package static func rfc3339(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard isTime(text), let time = Timestamp(text, form: .rfc3339, zone: nil) else { return nil }
    var written = Array(text[..<10]) + Array("T".utf8)
    written += time.whole > 10 ? Array(text[11..<time.whole]) : Array("00:00".utf8)
    var end = time.whole
    if time.digits > 0 {
      end += 1 + time.digits
      written += Array(".".utf8) + text[time.whole + 1..<end]
    }
    // A single letter is Z in any case.
    written += text.count - end > 1 ? Array(text[end...]) : Array("Z".utf8)
    return written
  }

  // MARK: Writing

  /// Another value in the notation of the text that this was read from.
  fileprivate func written(_ value: Int64, like text: String) -> String {
    switch form {
    case .number: return Self.padded(value, like: text)
    case .unix: return Self.decimal(value, unit: Self.second, digits: digits)
    case .unixMS: return Self.decimal(value, unit: 1_000_000, digits: digits)
    case .http: return writtenHTTP(value, like: text)
    case .dotnet: return Self.writtenDotnet(value, like: text)
    case .rfc3339, .compact: break
    }
    let pattern = Array(text.utf8)
    let (sum, isOver) = value.addingReportingOverflow(Int64(offset) * Self.second)
    let local = isOver ? (offset < 0 ? .min : .max) : sum
    let seconds = Self.floor(local, unit: Self.second)
    let all = Self.dateAndTime(zone?.lowestLocal(from: Self.floor(value, unit: Self.second)) ?? seconds)
    let part = digits > 0 ? Self.fraction(Self.remainder(local, unit: Self.second), digits: digits) : ""
    if form == .compact { return writtenCompact(all, fraction: part, like: pattern) }
    var bytes = Array(all.utf8.prefix(whole))
    (bytes[4], bytes[7]) = (pattern[4], pattern[4])
    if whole > 10 { bytes[10] = pattern[10] }
    var end = whole
    if digits > 0 {
      bytes += [pattern[whole]] + Array(part.utf8)
      end += digits + 1
    }
    return String(decoding: bytes + pattern[end...], as: UTF8.self)
  }

  /// The text of a value if no record shows upstream's notation: in whole seconds, or milliseconds for `unix_ms`.
  package static func text(of value: Int64, _ form: TimeForm) -> String {
    switch form {
    case .rfc3339: dateAndTime(floor(value, unit: second)) + "Z"
    case .unix: "\(floor(value, unit: second))"
    case .unixMS: "\(floor(value, unit: 1_000_000))"
    case .number: "\(value)"
    case .compact: day(of: value).filter { $0 != "-" }
    case .http: Date(timeIntervalSince1970: Double(floor(value, unit: second))).httpDate
    case .dotnet: writtenDotnet(value, like: "")
    }
  }

  /// `2026-11-23` in UTC.
  package static func day(of value: Int64) -> String { String(dateAndTime(floor(value, unit: second)).prefix(10)) }

  static func floor(_ value: Int64, unit: Int64) -> Int64 {
    value / unit - (value % unit < 0 ? 1 : 0)
  }

  /// Value minus its `floor`. The product of `floor` and the unit may be below the lowest number.
  private static func remainder(_ value: Int64, unit: Int64) -> Int64 {
    let remainder = value % unit
    return remainder < 0 ? remainder + unit : remainder
  }

  /// A number of a fixed width, such as `0017`, keeps its leading zeros.
  private static func padded(_ value: Int64, like text: String) -> String {
    let pattern = text.drop { $0 == "-" }
    let digits = String(value.magnitude)
    guard pattern.first == "0", pattern.count > digits.count else { return "\(value)" }
    return (value < 0 ? "-" : "") + String(repeating: "0", count: pattern.count - digits.count) + digits
  }

  private static func decimal(_ value: Int64, unit: Int64, digits: Int) -> String {
    guard digits > 0 else { return "\(floor(value, unit: unit))" }
    return "\(floor(value, unit: unit)).\(fraction(remainder(value, unit: unit) * (second / unit), digits: digits))"
  }

  /// Nanoseconds as that many digits.
  private static func fraction(_ nanoseconds: Int64, digits: Int) -> String {
    let text = String(nanoseconds)
    let all = String(repeating: "0", count: 9 - text.count) + text
    return String((all + String(repeating: "0", count: max(0, digits - 9))).prefix(digits))
  }

  /// `2026-11-23T09:00:00` of seconds since 1970.
  private static func dateAndTime(_ seconds: Int64) -> String {
    let date = Date(timeIntervalSince1970: Double(seconds))
    return String(date.formatted(Date.ISO8601FormatStyle()).prefix(19))
  }
}
