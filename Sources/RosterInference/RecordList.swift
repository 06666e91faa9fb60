import RosterModel

/// The list of records in an answer.
struct RecordList {
  var at: JSONPointer
  /// The list's elements that are objects.
  var records: [JSONValue]
  /// Number of elements that are not objects.
  var strangers: Int
  /// Other lists of objects in the answer, the most likely one first.
  var others: [JSONPointer] = []
  /// Lists of another shape that are longer than this one, the longest first.
  var unreadable: [UnreadableList] = []

  /// - Parameter noun: the kind of record that the address names, such as `issues`.
  /// - Throws: `Failure` (65) if the answer has no list of objects.
  init(in answer: ListAnswer, noun: String?) throws(Failure) {
    var found = FoundLists()
    found.collect(answer.body, at: JSONPointer())
    let ranked = found.lists.enumerated().sorted { one, other in
      let (mine, theirs) = (one.element.score(noun), other.element.score(noun))
      return mine == theirs ? one.offset < other.offset : mine > theirs
    }
    let longest = found.unreadable.enumerated().sorted { one, other in
      let (mine, theirs) = (one.element.count, other.element.count)
      return mine == theirs ? one.offset < other.offset : mine > theirs
    }.map(\.element)
    guard let best = ranked.first?.element else { throw answer.failure(withoutRecords: longest.first) }
    self = best
    others = ranked.dropFirst().map(\.element.at).filter { !$0.isWhole }
    unreadable = longest.filter { $0.count > best.records.count + best.strangers }
  }

  fileprivate init?(_ value: JSONValue, at: JSONPointer) {
    guard case .list(let elements) = value else { return nil }
    records = elements.filter(\.isObject)
    guard !records.isEmpty else { return nil }
    strangers = elements.count - records.count
    self.at = at
  }

  /// A higher score means a more likely list of records.
  private func score(_ noun: String?) -> Int {
    let word = at.segments.last?.word ?? ""
    var score = min(records.count, 20) - 10 * at.segments.count - 5 * min(strangers, 4)
    // An object beside a list describes that list: World Bank's answers are such pairs.
    if strangers > 0, at.isWhole { score -= 50 }
    if Vocabulary.listNames.contains(word) { score += 50 }
    if Vocabulary.sideListNames.contains(word) { score -= 100 }
    if let noun, Noun.singular(word) == Noun.singular(noun.word) { score += 60 }
    if records.allSatisfy({ $0["id"] != nil }) { score += 15 }
    return score
  }
}

/// All lists of an answer, without the lists inside records.
private struct FoundLists {
  var lists: [RecordList] = []
  var unreadable: [UnreadableList] = []

  /// The depth of lists in known APIs: `data.viewer.repository.issues.edges`.
  private static let maxDepth = 5
  /// A list with more elements does not wrap another one.
  private static let maxWrapping = 4

  /// - Parameter isInner: true for an element of a list.
  mutating func collect(_ value: JSONValue, at: JSONPointer, isInner: Bool = false) {
    if let list = RecordList(value, at: at) { lists.append(list) }
    if !isInner, let list = UnreadableList(value, at: at) { unreadable.append(list) }
    guard at.segments.count < Self.maxDepth else { return }
    switch value {
    case .object(let members): for member in members { collect(member.value, at: at.appending(member.name)) }
    case .list(let elements) where elements.count <= Self.maxWrapping:
      for (index, element) in elements.enumerated() where element.isList {
        collect(element, at: at.appending("\(index)"), isInner: true)
      }
    case .list, .null, .boolean, .number, .text: break
    }
  }
}

// MARK: Comments

extension RecordList {
  var notes: [Note] {
    var notes = unreadable.prefix(2).map(\.note)
    if strangers > 0 {
      notes.append(
        .remark(
          .records, "\(strangers) of the \(strangers + records.count) elements are not objects; a sync rejects them"))
    }
    if !others.isEmpty {
      let places = others.prefix(4).map(\.description).joined(separator: ", ")
      notes.append(.remark(.records, "other lists of objects in the answer: \(places)"))
    }
    return notes
  }
}

// MARK: No list

extension ListAnswer {
  fileprivate func failure(withoutRecords list: UnreadableList?) -> Failure {
    guard let list else { return failure(RecordList.description(of: body), hint: RecordList.hint(of: body)) }
    return failure("\(RecordList.description(of: body)); \(list.description)", hint: list.hint)
  }
}

extension RecordList {
  /// A clause that contains names of the answer, but no values.
  fileprivate static func description(of body: JSONValue) -> String {
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

  fileprivate static func hint(of body: JSONValue) -> String {
    let isEmpty = body == .list([]) || body.members.contains { $0.value == .list([]) }
    return isEmpty ? "give the address of a page that has records" : "give the address of a list"
  }
}

extension JSONValue {
  /// The members of an object; empty for any other value.
  var members: [Member] { if case .object(let members) = self { members } else { [] } }

  var isObject: Bool { if case .object = self { true } else { false } }

  var isList: Bool { if case .list = self { true } else { false } }
}
