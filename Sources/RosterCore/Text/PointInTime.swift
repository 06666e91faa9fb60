package import FoundationEssentials

extension Date {
  /// Reads a time in one of the forms that people write; nil for anything else:
  /// - RFC 3339 with any offset: `2026-11-21T05:19:03Z`;
  /// - a date, which means its first moment in UTC;
  /// - an age: `2h`.
  package init?(pointInTime text: String, now: Date) {
    if let ago = Duration(text: text) {
      self = now.addingTimeInterval(-ago.seconds)
    } else {
      let isDay = text.utf8.count == Self.dayLength
      guard let date = Self.rfc3339(Array((isDay ? text + " 00:00:00Z" : text).utf8)) else { return nil }
      self = date
    }
  }

  /// Lengths of `2026-11-21` and `2026-11-21T05:19:03`.
  private static let (dayLength, secondsLength) = (10, 19)

  /// `date-time` of RFC 3339 §5.6: date and time to the second, an optional fraction, an offset. A space may replace
  /// the T.
  private static func rfc3339(_ text: [UInt8]) -> Date? {
    guard text.count > secondsLength,
      [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(text[dayLength])
    else { return nil }
    let day = String(decoding: text[..<dayLength], as: UTF8.self)
    let time = String(decoding: text[(dayLength + 1)..<secondsLength], as: UTF8.self)
    let rest = text[secondsLength...]
    let fraction = rest.first == UInt8(ascii: ".") ? rest.dropFirst().prefix(while: \.isDigit) : []
    guard fraction.isEmpty == (rest.first != UInt8(ascii: ".")) else { return nil }
    let whole = "\(day)T\(time)Z"
    // The result is formatted and compared, because the parser accepts February 30 as March 2.
    guard let date = try? ISO8601FormatStyle().parse(whole), date.formatted(ISO8601FormatStyle()) == whole,
      let offset = offset(rest.dropFirst(fraction.isEmpty ? 0 : fraction.count + 1))
    else { return nil }
    let part = Double("0.\(String(decoding: fraction, as: UTF8.self))0") ?? 0
    return date.addingTimeInterval(part - offset)
  }

  /// `time-offset` in seconds east of Greenwich; nil if it is invalid.
  private static func offset(_ text: ArraySlice<UInt8>) -> Double? {
    if text.elementsEqual("Z".utf8) || text.elementsEqual("z".utf8) { return 0 }
    let digits = text.dropFirst()
    guard let sign = ["+": 1.0, "-": -1.0][String(decoding: text.prefix(1), as: UTF8.self)], digits.count == 5,
      digits.dropFirst(2).first == UInt8(ascii: ":"), digits.filter(\.isDigit).count == 4,
      let hours = Int(String(decoding: digits.prefix(2), as: UTF8.self)), hours < 24,
      let minutes = Int(String(decoding: digits.suffix(2), as: UTF8.self)), minutes < 60
    else { return nil }
    return sign * Double((hours * 60 + minutes) * 60)
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
