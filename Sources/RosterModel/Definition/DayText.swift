package import FoundationEssentials

/// `{today}`, `{today-Nd}`, `{today:FORM}` and `{today-Nd:FORM}` in a text: midnight UTC, N days ago (R6.1). FORM is
/// one of those of `{since:FORM}` (R6.2). Any other text in braces is literal (R6.3).
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
    guard let match = text.wholeMatch(of: Self.placeholder), let value = Self.value(of: match, at: now) else {
      return .text(filled(at: now))
    }
    return value.isNumber ? .number(value.text) : .text(value.text)
  }

  /// True if something in braces begins like a placeholder but is a literal text.
  package var hasOddPlaceholder: Bool {
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
  /// The definition with the days in its requests filled in (R6.1).
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
