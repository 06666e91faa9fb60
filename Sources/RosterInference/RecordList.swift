import RosterModel

/// Where the records are in an answer.
struct RecordList {
  var at: JSONPointer
  /// Its elements that are objects.
  var records: [JSONValue]
  /// Its other elements.
  var strangers: Int
  /// Other lists of objects in the answer.
  var others: [JSONPointer] = []

  /// - Parameter noun: what the address says that is listed.
  /// - Throws: `Failure` (65) where there is no list of objects.
  init(in answer: ListAnswer, noun: String?) throws(Failure) {
    var found: [RecordList] = []
    Self.collect(answer.body, JSONPointer(), into: &found)
    let ranked = found.enumerated().sorted { one, other in
      let (mine, theirs) = (one.element.score(noun), other.element.score(noun))
      return mine == theirs ? one.offset < other.offset : mine > theirs
    }
    guard let best = ranked.first?.element else {
      throw answer.failure(Self.description(of: answer.body), hint: Self.hint(of: answer.body))
    }
    self = best
    others = ranked.dropFirst().map(\.element.at)
  }

  private init?(_ value: JSONValue, at: JSONPointer) {
    guard case .list(let elements) = value else { return nil }
    records = elements.filter { if case .object = $0 { true } else { false } }
    guard !records.isEmpty else { return nil }
    strangers = elements.count - records.count
    self.at = at
  }

  /// As deep as answers wrap their lists: `data.viewer.repository.issues.edges`.
  private static let deepest = 5

  private static func collect(_ value: JSONValue, _ at: JSONPointer, into found: inout [RecordList]) {
    if let list = RecordList(value, at: at) { found.append(list) }
    guard case .object(let members) = value, at.segments.count < deepest else { return }
    for member in members { collect(member.value, at.appending(member.name), into: &found) }
  }

  /// What speaks for it, and against.
  private func score(_ noun: String?) -> Int {
    let word = at.segments.last?.word ?? ""
    var score = min(records.count, 20) - 10 * at.segments.count - 5 * min(strangers, 4)
    if Vocabulary.listNames.contains(word) { score += 50 }
    if Vocabulary.sideListNames.contains(word) { score -= 100 }
    if let noun, Noun.singular(word) == Noun.singular(noun.word) { score += 60 }
    if records.allSatisfy({ $0["id"] != nil }) { score += 15 }
    return score
  }
}

// MARK: No list

extension RecordList {
  /// A clause that holds names of the answer, no values.
  private static func description(of body: JSONValue) -> String {
    switch body {
    case .list(let elements) where elements.isEmpty: "the answer is an empty list"
    case .list: "the answer is a list without objects in it"
    case .object(let members) where members.isEmpty: "the answer is an empty object"
    case .object(let members): description(of: members)
    case .null, .boolean, .number, .text: "the answer is neither a list nor an object"
    }
  }

  private static func description(of members: [JSONValue.Member]) -> String {
    if let empty = members.first(where: { $0.value == .list([]) }) {
      return "the list at \(JSONPointer(segments: [empty.name])) is empty"
    }
    let names = members.prefix(5).map(\.name.tomlString).joined(separator: ", ")
    let more = members.count > 5 ? " and \(members.count - 5) more" : ""
    return "the answer is an object without a list of objects in it: it has \(names)\(more)"
  }

  private static func hint(of body: JSONValue) -> String {
    let isEmpty = body == .list([]) || body.members.contains { $0.value == .list([]) }
    return isEmpty ? "ask for a page that has records" : "give the address of a list"
  }
}

extension JSONValue {
  /// Of an object; none of anything else.
  var members: [Member] { if case .object(let members) = self { members } else { [] } }
}
