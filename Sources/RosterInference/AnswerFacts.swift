import RosterModel

/// What an answer says beside its records: each scalar, where it is, and what APIs call it.
struct AnswerFacts {
  struct Fact {
    var at: JSONPointer
    /// Of its own name.
    var word: String
    var value: JSONValue

    /// In a name that says nothing of itself, such as `href`, the object around it speaks.
    var words: [String] {
      let parent = at.segments.dropLast().last?.word ?? ""
      return ["href", "url", "uri", "value"].contains(word) ? [word, parent] : [word]
    }
  }

  /// Those nearest to the top first.
  private let facts: [Fact]

  /// Nothing is looked for in lists.
  init(_ body: JSONValue) {
    var found: [Fact] = []
    Self.collect(body, JSONPointer(), into: &found)
    facts = found.enumerated().sorted { one, other in
      let (mine, theirs) = (one.element.at.segments.count, other.element.at.segments.count)
      return mine == theirs ? one.offset < other.offset : mine < theirs
    }.map(\.element)
  }

  /// As deep as what is told of a list stands: `data.viewer.issues.pageInfo.endCursor`.
  private static let deepest = 5

  private static func collect(_ value: JSONValue, _ at: JSONPointer, into found: inout [Fact]) {
    guard at.segments.count <= deepest else { return }
    switch value {
    case .object(let members):
      for member in members { collect(member.value, at.appending(member.name), into: &found) }
    case .list: break
    case .null, .boolean, .number, .text:
      found.append(Fact(at: at, word: at.segments.last?.word ?? "", value: value))
    }
  }

  func first(_ names: Set<String>, where isMeant: (Fact) -> Bool) -> Fact? {
    facts.first { fact in fact.words.contains { names.contains($0) } && isMeant(fact) }
  }

  func integer(_ names: Set<String>, atLeast least: Int) -> (at: JSONPointer, value: Int)? {
    let fact = first(names) { ($0.value.integer ?? .min) >= Int64(least) }
    return fact.flatMap { fact in fact.value.integer.map { (fact.at, Int($0)) } }
  }
}
