import RosterCore

/// The scalars of an answer outside its records: each with its place and the words that name it.
struct AnswerFacts {
  struct Fact {
    var at: JSONPointer
    /// The normalised name of the member.
    var word: String
    /// The normalised name; for a vague name such as `href`, also the name of the surrounding object.
    var words: [String]
    var value: JSONValue

    init(at: JSONPointer, value: JSONValue) {
      self.at = at
      self.value = value
      word = at.segments.last?.word ?? ""
      let parent = at.segments.dropLast().last?.word ?? ""
      words = ["href", "url", "uri", "value"].contains(word) ? [word, parent] : [word]
    }
  }

  /// Facts near the top come first.
  private let facts: [Fact]

  init(_ body: JSONValue) {
    var found: [Fact] = []
    Self.collect(body, at: JSONPointer(), into: &found)
    facts = found.enumerated().sorted { one, other in
      let (mine, theirs) = (one.element.at.segments.count, other.element.at.segments.count)
      return mine == theirs ? one.offset < other.offset : mine < theirs
    }.map(\.element)
  }

  /// The depth of facts about a list in known APIs: `data.viewer.issues.pageInfo.endCursor`.
  private static let maxDepth = 5

  private static func collect(_ value: JSONValue, at: JSONPointer, into found: inout [Fact]) {
    guard at.segments.count <= maxDepth else { return }
    switch value {
    case .object(let members):
      for member in members { collect(member.value, at: at.appending(member.name), into: &found) }
    case .list(let elements):
      // World Bank's answers are a list of an object with such facts and of the list of records.
      guard at.isWhole, elements.count == 2, elements.last?.isList == true, let first = elements.first,
        first.isObject
      else { return }
      collect(first, at: at.appending("0"), into: &found)
    case .null, .boolean, .number, .text: found.append(Fact(at: at, value: value))
    }
  }

  /// The facts of each object.
  var groups: [[Fact]] {
    let byObject = Dictionary(grouping: facts.enumerated()) { $0.element.at.segments.dropLast() }
    return byObject.values.sorted { $0[0].offset < $1[0].offset }.map { $0.map(\.element) }
  }

  func first(_ names: Set<String>, where isMeant: (Fact) -> Bool) -> Fact? {
    facts.first { fact in fact.words.contains { names.contains($0) } && isMeant(fact) }
  }

  func integer(_ names: Set<String>, atLeast least: Int) -> (at: JSONPointer, value: Int)? {
    let fact = first(names) { ($0.value.integer ?? .min) >= Int64(least) }
    return fact.flatMap { fact in fact.value.integer.map { (fact.at, Int($0)) } }
  }

  /// A total, which may be a text of digits or have a fraction of zero, as a sync reads it.
  func total(_ names: Set<String>, atLeast least: Int) -> (at: JSONPointer, value: Int)? {
    let fact = first(names) { ($0.value.whole ?? .min) >= Int64(least) }
    return fact.flatMap { fact in fact.value.whole.map { (fact.at, Int($0)) } }
  }

  /// Whole numbers above `least`, except those whose names say that they are something other than a total.
  func possibleTotals(above least: Int) -> [(at: JSONPointer, value: Int)] {
    facts.compactMap { fact in
      guard let value = fact.value.integer, value > least, value < Vocabulary.maxTotal,
        !Vocabulary.isMeasure(fact.at.segments.last ?? "")
      else { return nil }
      return (fact.at, Int(value))
    }
  }

  /// The place of the first object of scalars with one of these names.
  func object(_ names: Set<String>, in body: JSONValue) -> JSONPointer? {
    let places = facts.lazy.map { JSONPointer(segments: Array($0.at.segments.dropLast())) }
    return places.first { at in
      names.contains(at.segments.last?.word ?? "") && body[at]?.members.contains { $0.value.isCompound } == false
    }
  }
}

extension JSONValue {
  fileprivate var isCompound: Bool { isObject || isList }

  /// The whole number that this is, or that its text has; nil for other values.
  var whole: Int64? {
    if let text { return text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil }
    return integer ?? number.flatMap(Int64.init(exactly:))
  }

  /// The flag that this is, in any of the forms that a sync reads; nil for other values.
  var flag: Bool? {
    switch self {
    case .boolean(let isTrue): isTrue
    case .text("1"), .number("1"): true
    case .text("0"), .number("0"): false
    case .text(let text): Bool(written: text)
    case .null, .number, .list, .object: nil
    }
  }
}
