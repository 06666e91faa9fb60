import RosterCore

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
