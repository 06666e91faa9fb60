import RosterModel

/// Members with which an answer says that it is whole and right. As conditions, they make any other answer a fault of
/// upstream (R7.1).
enum AnswerSigns {
  /// The conditions that this answer meets: on the answer itself and on the objects around its records.
  static func conditions(of body: JSONValue, records: JSONPointer) -> [Resource.Condition] {
    unreachable(body)
      + (0..<max(1, records.segments.count)).flatMap { depth in
        let outer = JSONPointer(segments: Array(records.segments.prefix(depth)))
        return (body[outer]?.members ?? []).compactMap { condition($0, in: outer) }
      }
  }

  /// A list of a Google API names the places that it could not reach, and lacks their records (google.aip.dev/217).
  private static func unreachable(_ body: JSONValue) -> [Resource.Condition] {
    body.members.contains { $0.name == "nextPageToken" && $0.value.text?.isEmpty == false }
      ? [Resource.Condition(JSONPointer(segments: ["unreachable"]), .absent)] : []
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

  /// True if the answer comes from a server that leaves out empty lists. It is written by Protocol Buffers, whose
  /// 64-bit numbers are texts and whose pages have `nextPageToken`, or it has the `kind` of a Google API.
  static func leavesOutEmptyLists(_ body: JSONValue, records: JSONPointer) -> Bool {
    guard !records.isWhole else { return false }
    return body.members.contains { member in
      guard let text = member.value.text, !text.isEmpty else { return false }
      return member.name == "nextPageToken" || member.name == "kind" && text.contains("#")
        || Vocabulary.total.union(Vocabulary.count).contains(member.name.word) && member.value.whole != nil
    }
  }

  /// True if the answer comes from a server that writes null for an empty list, as Go does. A member of its records is
  /// a list in one record and null in another one.
  static func writesNullForEmptyLists(_ records: [JSONValue]) -> Bool {
    let members = records.flatMap(\.members)
    let nulls = Set(members.filter { $0.value == .null }.map(\.name))
    let isMixed = members.contains { nulls.contains($0.name) && $0.value.isList && $0.value != .list([]) }
    return isMixed && !members.contains { $0.value == .list([]) }
  }

  /// The total of an answer that says that there are no records; nil if it does not say so.
  static func emptyTotal(in body: JSONValue) -> JSONPointer? {
    let total = body.members.first { Vocabulary.total.contains($0.name.word) && $0.value.whole == 0 }
    return total.map { JSONPointer(segments: [$0.name]) }
  }
}
