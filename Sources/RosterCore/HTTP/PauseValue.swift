package import FoundationEssentials

/// The length or the end of a pause, as servers write it in a header.
enum PauseValue: Equatable {
  /// Seconds from the answer on.
  case length(Double)
  /// Seconds since 1970.
  case end(Double)

  /// Unit of a number without a unit of its own, in seconds.
  static let (seconds, milliseconds) = (1.0, 0.001)

  /// The readable values of a header: the whole value, or each value of a list.
  static func all(in text: String, unit: Double = seconds) -> [PauseValue] {
    if let value = PauseValue(text, unit: unit) { return [value] }
    return text.split(separator: ",").compactMap { PauseValue($0, unit: unit) }
  }

  /// Reads a number, a length with units (`1m30s`), an HTTP date, or a date of ISO 8601; nil for anything else.
  init?(_ text: some StringProtocol, unit: Double = seconds) {
    let text = text.trimmed
    if let number = Self.number(text) {
      self = Self(number: number, unit: unit)
    } else if let length = Self.length(text) {
      self = .length(length)
    } else if let date = Date(httpDate: text) ?? Self.isoDate(text) {
      self = .end(date.timeIntervalSince1970)
    } else {
      return nil
    }
  }

  /// A number that cannot be a length in seconds is one in milliseconds, or a date. Dates are in seconds since 1970, or
  /// in thousandths, millionths or billionths of a second.
  private init(number: Double, unit: Double) {
    switch number {
    case ...Self.maxSeconds where unit == Self.seconds: self = .length(number)
    case ..<1e9 where unit == Self.seconds: self = .length(number * Self.milliseconds)
    case ..<1e11 where unit == Self.milliseconds: self = .length(number * Self.milliseconds)
    case ..<1e11: self = .end(number)
    case ..<1e14: self = .end(number / 1e3)
    case ..<1e17: self = .end(number / 1e6)
    default: self = .end(number / 1e9)
    }
  }

  /// 32 days: the longest period of a quota is a month.
  private static let maxSeconds = 32.0 * 86400

  /// The pause from the time of the answer on: at least zero, and at most a day.
  func pause(from sentAt: Date) -> Duration {
    let seconds =
      switch self {
      case .length(let seconds): seconds
      case .end(let seconds): seconds - sentAt.timeIntervalSince1970
      }
    return .seconds(min(max(0, seconds), RetryAfterHold.longest.seconds))
  }

  // MARK: Reading

  /// Digits with an optional fraction, of any length.
  static func number(_ text: some StringProtocol) -> Double? {
    guard text.utf8.first?.isDigit == true, text.utf8.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") }) else {
      return nil
    }
    return Double(text)
  }

  /// `6s`, `1m30s`, `120ms` or `30 seconds`.
  private static func length(_ text: String) -> Double? {
    var (rest, sum) = (text[...], 0.0)
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(digits.count).drop { $0 == " " }
      let unit = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest.dropFirst(unit.count).drop { $0 == " " }
      guard let number = number(digits), let length = units[unit.lowercased()] else { return nil }
      sum += number * length
    }
    return text.isEmpty ? nil : sum
  }

  private static let units: [String: Double] = [
    "ms": 0.001, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60, "minute": 60,
    "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400,
  ]

  /// RFC 3339, also without an offset, with `UTC` as the offset, or with a space before the offset.
  private static func isoDate(_ text: String) -> Date? {
    var text = text
    for name in [" UTC", " GMT"] where text.hasSuffix(name) { text = text.dropLast(name.count) + "Z" }
    text = text.replacing(" +", with: "+").replacing(" -", with: "-")
    guard text.utf8.contains(UInt8(ascii: ":")), let mark = Mark(text, form: .rfc3339, zone: 0) else { return nil }
    return Date(timeIntervalSince1970: Double(mark.value) / 1e9)
  }
}

/// A time before which upstream wants no page request, in the form that survives a restart.
package struct RetryAfterHold: Sendable, Equatable {
  /// Time of upstream's answer.
  package var setAt: Date
  /// End of the pause that upstream asked for.
  package var until: Date

  /// Upper bound for every pause, whatever upstream asked for or the file contains.
  package static let longest = Duration.seconds(86400)

  /// Rounding error, in seconds, of a time that was written to a file and read back.
  private static let precision = 0.001

  /// - Parameter until: the end of the pause. `remaining(at:)` limits it to one day after `setAt`.
  package init(setAt: Date, until: Date) {
    self.setAt = setAt
    self.until = until
  }

  /// The remaining pause; nil if it is over. Also nil if `setAt` is in the future, because then the clock was wrong.
  package func remaining(at now: Date) -> Duration? {
    guard setAt <= now + Self.precision else { return nil }
    let end = min(until, setAt + Self.longest.seconds)
    return end > now ? .seconds(end.timeIntervalSince(now)) : nil
  }
}
