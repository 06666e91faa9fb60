package import FoundationEssentials

/// Forms of times beside RFC 3339 and numbers: `compact`, `http` and `dotnet`.
extension Timestamp {
  /// `20261128`, also with a time (`20261128T093000`, `20261128093000`), a fraction and a zone.
  mutating func readCompact(_ bytes: UnsafeBufferPointer<UInt8>, zone: LocalZone?) -> Bool {
    func number(_ range: Range<Int>) -> Int64? {
      guard range.upperBound <= bytes.count else { return nil }
      return range.reduce(Int64?(0)) { sum, at in sum.flatMap { sum in Self.digit(bytes[at]).map { sum * 10 + $0 } } }
    }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
      Self.isDate(year, month: month, day: day)
    else { return false }
    var seconds = Self.represented(year, month: month, day: day) * 86_400
    var at = 8
    var part: Int64 = 0
    if at < bytes.count, bytes[at] != UInt8(ascii: "Z") {
      if bytes[at] == UInt8(ascii: "T") { at += 1 }
      guard let hour = number(at..<at + 2), hour < 24, let minute = number(at + 2..<at + 4), minute < 60 else {
        return false
      }
      seconds += hour * 3600 + minute * 60
      at += 4
      if let second = number(at..<at + 2) {
        guard second <= 60 else { return false }
        seconds += second
        at += 2
      }
      whole = at
      if at < bytes.count, let found = fraction(bytes, start: at, of: Self.second) { (part, at) = found }
    }
    whole = max(whole, 8)
    guard readZone(bytes, start: at, zone: zone) else { return false }
    let time = self.zone?.time(ofLocal: seconds) ?? seconds - Int64(offset)
    value = time * Self.second + part
    return true
  }

  /// The three forms of RFC 9110 §5.6.7, and the first of them with an offset (RFC 5322 §3.3).
  mutating func readHTTP(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count <= 64 else { return false }
    let text = String(decoding: bytes, as: UTF8.self)
    if let date = Date(httpDate: text) {
      value = Self.seconds(of: date)
      return true
    }
    let words = text.split(separator: " ")
    guard let zone = words.last, let offset = Self.offset(zone), let first = words.first,
      let date = Date(
        httpDate: (first.hasSuffix(",") ? "" : "Sun, ") + words.dropLast().joined(separator: " ") + " GMT")
    else { return false }
    self.offset = offset
    value = Self.seconds(of: date) - Int64(offset) * Self.second
    return true
  }

  /// Seconds east of Greenwich of `+0100`, `UTC`, `UT` and `Z`.
  private static func offset(_ zone: Substring) -> Int? {
    if ["UTC", "UT", "Z"].contains(zone) { return 0 }
    let digits = zone.utf8.dropFirst().compactMap(digit)
    guard zone.utf8.count == 5, digits.count == 4, zone.hasPrefix("+") || zone.hasPrefix("-") else { return nil }
    let seconds = Int((digits[0] * 10 + digits[1]) * 3600 + (digits[2] * 10 + digits[3]) * 60)
    return zone.hasPrefix("-") ? -seconds : seconds
  }

  /// `/Date(1763977200000)/`, milliseconds since 1970. An offset after the number is for display only.
  mutating func readDotnet(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    let (start, end) = (Array("/Date(".utf8), Array(")/".utf8))
    guard bytes.count > start.count + end.count, bytes.starts(with: start), bytes.suffix(end.count).elementsEqual(end)
    else { return false }
    let inner = bytes[start.count..<bytes.count - end.count]
    let sign = inner.first == UInt8(ascii: "-") ? 1 : 0
    let number = inner.prefix(sign + inner.dropFirst(sign).prefix { Self.digit($0) != nil }.count)
    let rest = inner.dropFirst(number.count)
    guard rest.isEmpty || rest.count == 5 && Self.offset(Substring(decoding: rest, as: UTF8.self)) != nil,
      let milliseconds = Int64(String(decoding: number, as: UTF8.self))
    else { return false }
    let (scaled, isOver) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    value = isOver ? (milliseconds < 0 ? -.max : .max) : scaled
    return true
  }

  // MARK: Writing

  /// The time in the notation of a compact text.
  func writtenCompact(_ dateAndTime: String, fraction: String, like pattern: [UInt8]) -> String {
    let all = Array(dateAndTime.utf8).filter { Self.digit($0) != nil }
    let hasT = pattern.count > 8 && pattern[8] == UInt8(ascii: "T")
    let end = whole + (digits > 0 ? digits + 1 : 0)
    let time = whole > 8 ? (hasT ? [UInt8(ascii: "T")] : []) + all[8..<min(14, whole - (hasT ? 1 : 0))] : []
    let part = digits > 0 ? [pattern[whole]] + Array(fraction.utf8) : []
    return String(decoding: Array(all.prefix(8)) + time + part + pattern[end...], as: UTF8.self)
  }

  /// The time in the notation of a text of `http`.
  func writtenHTTP(_ value: Int64, like text: String) -> String {
    let zone = text.split(separator: " ").last ?? "GMT"
    let local = Self.floor(value, unit: Self.second) + Int64(offset)
    let date = Date(timeIntervalSince1970: Double(local)).httpDate
    guard Self.offset(zone) != nil else { return date }
    return "\(date.dropLast("GMT".count))\(zone)"
  }

  /// The time in the notation of a text of `dotnet`.
  static func writtenDotnet(_ value: Int64, like text: String) -> String {
    let inner = text.dropFirst("/Date(".count)
    let rest = inner.dropFirst(inner.hasPrefix("-") ? 1 : 0).drop(while: \.isNumber)
    let milliseconds = floor(value, unit: 1_000_000)
    let suffix = rest.hasPrefix("+") || rest.hasPrefix("-") ? rest : ")/"
    return "/Date(\(milliseconds)\(suffix)"
  }

  /// The form of the bytes if they are a time of another form than `form`; else nil.
  package static func otherForm(of bytes: UnsafeBufferPointer<UInt8>, than form: TimeForm) -> TimeForm? {
    guard form.isText else { return nil }
    return TimeForm.allCases.first { other in
      other != form && other.isText && Timestamp(bytes, form: other, zone: nil) != nil
    }
  }
}

/// `{today}`, `{today-Nd}`, `{today:FORM}` and `{today-Nd:FORM}` in a text: midnight UTC, N days ago. FORM is
/// one of those of `{since:FORM}`. Any other text in braces is literal.
package struct DayText: Sendable, Equatable {
  private let text: String

  /// The text with its placeholders.
  package init(_ text: String) { self.text = text }

  /// The text without placeholders.
  package func filled(at now: Date) -> String {
    guard text.contains(Self.mark) else { return text }
    return text.replacing(Self.placeholder) { match in
      Self.value(of: match, at: now)?.text ?? String(match.0)
    }
  }

  /// The same for a body, where a placeholder alone has its natural type: `unix` and `unix_ms` are numbers there.
  package func json(at now: Date) -> JSONValue {
    guard text.contains(Self.mark), let match = text.wholeMatch(of: Self.placeholder),
      let value = Self.value(of: match, at: now)
    else {
      return .text(filled(at: now))
    }
    return value.isNumber ? .number(value.text) : .text(value.text)
  }

  /// True if something in braces begins like a placeholder but is a literal text.
  package var hasOddPlaceholder: Bool {
    guard text.contains(Self.mark) else { return false }
    let rest = text.replacing(Self.placeholder) { match in
      Self.value(of: match, at: Date(timeIntervalSince1970: 0)) == nil ? String(match.0) : ""
    }
    return rest.contains(Self.mark)
  }

  private static let mark = "{today"
  /// The most days that a placeholder may go back.
  private static let maxDays = 36_500

  private typealias Match = Regex<(Substring, Substring?, Substring?)>.Match

  private static var placeholder: Regex<(Substring, Substring?, Substring?)> {
    /\{today(?:-([0-9]+)d)?(?::([a-z0-9_]+))?\}/
  }

  /// nil for a number of days that is out of range.
  private static func days(of match: Match) -> Int? {
    guard let digits = match.1 else { return 0 }
    guard let days = Int(digits), (1...maxDays).contains(days) else { return nil }
    return days
  }

  private static func value(of match: Match, at now: Date) -> (text: String, isNumber: Bool)? {
    guard let days = days(of: match) else { return nil }
    let midnight = (now.timeIntervalSince1970 / 86_400).rounded(.down) * 86_400 - Double(days) * 86_400
    let value = Int64(midnight) * Timestamp.second
    switch match.2.map(String.init) {
    case TimeForm.day?: return (Timestamp.day(of: value), false)
    case nil: return (Timestamp.text(of: value, .rfc3339), false)
    case let name?:
      guard let form = TimeForm(rawValue: name), TimeForm.written.contains(form) else { return nil }
      return (Timestamp.text(of: value, form), !form.isText)
    }
  }
}

extension Resource {
  /// The definition with the days in its requests filled in.
  package func dated(_ now: Date) -> Resource {
    var dated = self
    dated.path = DayText(path).filled(at: now)
    dated.query = query.map { $0.dated(now) }
    dated.body = body.replacingTexts { DayText($0).json(at: now) }
    for index in dated.listing.headers.indices {
      dated.listing.headers[index].value = DayText(listing.headers[index].value).filled(at: now)
    }
    if let since { dated.since?.value = DayText(since.value).filled(at: now) }
    return dated
  }
}

extension Resource.Parameter {
  fileprivate func dated(_ now: Date) -> Self {
    guard case .text(let text) = value else { return self }
    return Self(name, .text(DayText(text).filled(at: now)))
  }

  /// True if the value begins a placeholder for a day and has none.
  package var hasOddDay: Bool {
    if case .text(let text) = value { DayText(text).hasOddPlaceholder } else { false }
  }
}

extension JSONValue {
  /// True if a text in it begins a placeholder for a day and has none.
  package var hasOddDay: Bool { texts.contains { DayText($0).hasOddPlaceholder } }
}
