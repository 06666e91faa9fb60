import RosterCore

/// Signs of the form that a server gives to an answer without records.
enum EmptyLists {
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
