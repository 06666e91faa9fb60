import RosterModel

/// Members with which an answer says that it is whole and right. As conditions, they make any other answer a fault of
/// upstream (R7.1).
enum AnswerSigns {
  /// The conditions that this answer meets: on the answer itself and on the objects around its records.
  static func conditions(of body: JSONValue, records: JSONPointer) -> [Resource.Condition] {
    (0..<max(1, records.segments.count)).flatMap { depth in
      let outer = JSONPointer(segments: Array(records.segments.prefix(depth)))
      return (body[outer]?.members ?? []).compactMap { condition($0, in: outer) }
    }
  }

  private static func condition(_ member: JSONValue.Member, in outer: JSONPointer) -> Resource.Condition? {
    let at = JSONPointer(segments: outer.segments + [member.name])
    switch member.value {
    case .boolean(true) where Vocabulary.successes.contains(member.name.word):
      return Resource.Condition(at, .equal(.boolean(true)))
    case .boolean(false) where Vocabulary.lacks.contains(member.name.word):
      return Resource.Condition(at, .differs([.boolean(true)]))
    case .null, .boolean, .number, .text, .list, .object: return nil
    }
  }

  /// The line of a definition; nil without conditions.
  static func line(_ conditions: [Resource.Condition]) -> String? {
    if conditions.isEmpty { return nil }
    let tests = conditions.map { condition in
      let test = if case .equal = condition.test { "true" } else { "{ not = true }" }
      return "\(condition.at.description.tomlString) = \(test)"
    }
    return "expect = { \(tests.joined(separator: ", ")) }"
  }
}
