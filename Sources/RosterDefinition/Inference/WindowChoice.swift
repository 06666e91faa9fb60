import RosterCore

/// Proposals for windows: an address or an answer has both bounds of a span of time.
struct WindowChoice {
  private let lower: Bound
  private let upper: Bound
  private let form: TimeForm
  private let begin: Int64
  private let end: Int64

  private struct Bound {
    var name: String
    var value: JSONValue
  }

  /// Returns at most one note.
  static func notes(_ resource: Resource, body: JSONValue) -> [Note] {
    if let asked = Self(resource.query.map { Bound(name: $0.name, value: $0.value.json) }) {
      return [asked.note("the start of the first span; these lines pull all spans, with this query for both values")]
    }
    let told = AnswerFacts(body).groups.lazy.compactMap { facts in
      Self(facts.map { Bound(name: $0.at.segments.last ?? "", value: $0.value) })
    }
    let found = told.first
    return found.map { [$0.note("the parameters for both bounds of a span, under whose names the answer has them")] }
      ?? []
  }

  private init?(_ bounds: [Bound]) {
    for lower in bounds {
      for (start, end) in Vocabulary.bounds where lower.name.word.contains(start) {
        let other = lower.name.word.replacing(start, with: end)
        guard let upper = bounds.first(where: { $0.name.word == other }), let found = Self(lower, upper) else {
          continue
        }
        self = found
        return
      }
    }
    return nil
  }

  private init?(_ lower: Bound, _ upper: Bound) {
    guard let form = SinceChoice.form(of: [lower.value, upper.value]),
      let begin = Mark(lower.value.queryText, form: form, zone: 0)?.value,
      let end = Mark(upper.value.queryText, form: form, zone: 0)?.value, begin <= end,
      lower.value.queryText.utf8.count == upper.value.queryText.utf8.count
    else { return nil }
    (self.lower, self.upper, self.form, self.begin, self.end) = (lower, upper, form, begin, end)
  }

  /// True if the bounds are days such as `2026-11-23`.
  private var areDays: Bool { form == .rfc3339 && lower.value.queryText.utf8.count == Self.day.utf8.count }
  private static let day = "2026-11-23"

  private var columns: [String] { areDays || form == .compact ? ["from_day", "to_day"] : ["from_time", "to_time"] }

  /// The length of the span; at most that of a month, because the first answer may be of a long one.
  private var every: String {
    let seconds = (end - begin) / Timestamp.second
    if seconds > 0, seconds < Self.secondsOfDay { return "\((seconds + 3599) / 3600)h" }
    return "\(min(max(1, (seconds + Self.secondsOfDay - 1) / Self.secondsOfDay), Self.maxDays))d"
  }
  private static let secondsOfDay: Int64 = 86_400
  private static let maxDays: Int64 = 31

  private func note(_ text: String) -> Note {
    let from = begin % (Self.secondsOfDay * Timestamp.second) == 0
    let start = from ? Timestamp.day(of: begin) : Timestamp.text(of: begin, .rfc3339)
    let written = areDays ? "" : ", form = \(form.rawValue.tomlString)"
    let query = zip([lower.name, upper.name], columns).map { "\($0.tomlKey) = \("{window.\($1)}".tomlString)" }
    return .unseen(
      .each, text: text, lines: "each = { of = \"window\" }",
      "query = { \(query.joined(separator: ", ")) }", "[resource.window]",
      "windows = { from = \(start.tomlString), every = \(every.tomlString)\(written) }",
      "columns = { \(columns[0]) = \"/from\", \(columns[1]) = \"/to\" }")
  }
}

extension Resource.Scalar {
  fileprivate var json: JSONValue {
    switch self {
    case .text(let text): .text(text)
    case .integer(let number): .integer(number)
    case .real(let number): .number("\(number)")
    case .boolean(let flag): .boolean(flag)
    }
  }
}

/// Proposals for `since`: an answer shows what a list could start from, but not how upstream is asked for it.
enum SinceChoice {
  /// Returns at most one note.
  static func notes(_ resource: Resource, body: JSONValue, of records: [JSONValue]) -> [Note] {
    (token(in: body) ?? time(resource, records: records)).map { [$0] } ?? []
  }

  /// A delta token beside the records.
  private static func token(in body: JSONValue) -> Note? {
    guard case .object(let members) = body else { return nil }
    for member in members where Vocabulary.deltaTokens.contains(member.name.word) {
      let at = JSONPointer(segments: [member.name]).description.tomlString
      if member.value.text?.contains("://") == true {
        return .remark(.since, text: "each sync then asks for changed records only", lines: "since = { token = \(at) }")
      }
      return .unseen(
        .since, text: "the parameter that carries the token; each sync then asks for changed records only",
        lines: "since = { token = \(at), param = \"\(Vocabulary.tokenParam(member.name))\" }")
    }
    return nil
  }

  /// A time of the last change that each record has.
  private static func time(_ resource: Resource, records: [JSONValue]) -> Note? {
    for column in resource.columns where Vocabulary.changeTimes.contains(column.ownField?.word ?? "") {
      let values = records.map { $0[column.at] }
      guard let form = form(of: values) else { continue }
      let suffix = form == .rfc3339 ? "" : ", form = \(form.rawValue.tomlString)"
      return .unseen(
        .since, text: "whether a parameter lists the records changed since a time; each sync then asks for those only",
        lines: "since = { at = \(column.at.description.tomlString), param = \"updated_since\"\(suffix) }")
    }
    return nil
  }

  /// The form of times that all values have; nil without one.
  static func form(of values: [JSONValue?]) -> TimeForm? {
    let texts = values.compactMap { $0?.text }
    if !texts.isEmpty, texts.count == values.count {
      let forms: [TimeForm] = [.rfc3339, .dotnet, .http, .compact]
      return forms.first { form in texts.allSatisfy { Mark($0, form: form) != nil } }
    }
    let numbers = values.compactMap { $0?.integer }
    guard !numbers.isEmpty, numbers.count == values.count else { return nil }
    // Days, of 1900 to 2100.
    let areDays = numbers.allSatisfy { (19_000_101...21_001_231).contains($0) && Mark("\($0)", form: .compact) != nil }
    if areDays { return .compact }
    // The years 2001 to 2286.
    if numbers.allSatisfy({ (1_000_000_000..<10_000_000_000).contains($0) }) { return .unix }
    return numbers.allSatisfy { (1_000_000_000_000..<10_000_000_000_000).contains($0) } ? .unixMS : nil
  }
}
