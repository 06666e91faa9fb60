import RosterCore

/// The list of records in an answer.
struct RecordList {
  var at: JSONPointer
  /// Form of the elements, if they are not objects.
  var shaped: ShapedList?
  /// The list's elements that are objects, or the objects that they are read as.
  var records: [JSONValue]
  /// Number of elements that are not objects.
  var strangers: Int
  /// Other lists of objects in the answer, the most likely one first.
  var others: [JSONPointer] = []
  /// Lists of another shape that are longer than this one, the longest first.
  var longer: [ShapedList] = []
  /// The answer as one record; nil if it is a list.
  var detail: DetailAnswer?
  /// True if one record may come without a list: in answers that are converted from XML, such as `orders/order`.
  var isListOfOne: Bool { at.isElement }

  /// - Parameter noun: the kind of record that the address names, such as `issues`.
  /// - Throws: `Failure` (65) if the answer has no list, and is no detail of a parent.
  init(in answer: ListAnswer, noun: String?) throws(Failure) {
    let list = Result { () throws(Failure) in try RecordList(listIn: answer, noun: noun) }
    if let detail = DetailAnswer(in: answer, beside: try? list.get(), noun: noun) {
      (at, records, strangers) = (detail.at, [detail.record], 0)
      self.detail = detail
    } else {
      self = try list.get()
    }
  }

  private init(listIn answer: ListAnswer, noun: String?) throws(Failure) {
    var found = FoundLists()
    found.collect(answer.body, at: JSONPointer())
    let isOfErrors = noun.map { Noun.singular($0.word) == "error" } ?? false
    let lists = found.lists.filter { isOfErrors || $0.at.segments != Self.errors }
    let ranked = lists.enumerated().sorted { one, other in
      let (mine, theirs) = (one.element.score(noun), other.element.score(noun))
      return mine == theirs ? one.offset < other.offset : mine > theirs
    }
    let shaped = found.shaped(in: answer.body)
    let best = ranked.first?.element
    let size = best.map { $0.records.count + $0.strangers } ?? 0
    // One value alone, such as a message, is no list of records.
    let first = shaped.first { $0.shape.isRows || $0.count > 1 }
    let isMap = best.map { first?.isMap(with: $0.at) == true && !$0.isNamed(noun) } ?? false
    if let first, best == nil || (first.names != nil && first.count > size) || isMap {
      self.init(first, in: answer.body)
      longer = shaped.filter { $0.count > first.count && $0.at != first.names }
    } else if let single = RecordList(singleIn: answer.body), best.map({ $0.at.isInside(single.at) }) ?? true {
      self = single
    } else if let best {
      self = best
      longer = shaped.filter { $0.count > size }
    } else {
      throw answer.failure(
        RecordList.description(of: answer.body, noun: noun), hint: RecordList.hint(of: answer.body, noun: noun))
    }
    others = ranked.map(\.element.at).filter { !$0.isWhole && $0 != at }
  }

  /// The place of GraphQL's and JSON:API's errors, which are no records.
  fileprivate static let errors = ["errors"]

  private init(_ list: ShapedList, in body: JSONValue) {
    at = list.at
    shaped = list
    records = list.records(in: body)
    strangers = 0
  }

  /// One record in the place of a list of such elements.
  private init?(singleIn body: JSONValue) {
    guard let at = body.element(below: JSONPointer(), depth: 4), let record = body[at] else { return nil }
    (self.at, records, strangers) = (at, [record], 0)
  }

  fileprivate init?(_ value: JSONValue, at: JSONPointer) {
    guard case .list(let elements) = value else { return nil }
    records = elements.filter(\.isObject)
    guard !records.isEmpty else { return nil }
    strangers = elements.count - records.count
    self.at = at
  }

  /// True if the list has the name of the records, whatever lists are beside it.
  private func isNamed(_ noun: String?) -> Bool {
    guard let noun, let name = at.segments.last else { return false }
    return Noun.singular(name.word) == Noun.singular(noun.word)
  }

  /// A higher score means a more likely list of records.
  private func score(_ noun: String?) -> Int {
    let word = at.segments.last?.word ?? ""
    var score = min(records.count, 20) - 10 * at.segments.count - 5 * min(strangers, 4)
    // An object beside a list describes that list: World Bank's answers are such pairs.
    if strangers > 0, at.isWhole { score -= 50 }
    if Vocabulary.listNames.contains(word) { score += 50 }
    if Vocabulary.sideListNames.contains(word) { score -= 100 }
    if isNamed(noun) { score += 60 }
    if records.allSatisfy({ $0["id"] != nil }) { score += 15 }
    return score
  }
}

/// All lists of an answer, without the lists inside records.
private struct FoundLists {
  var lists: [RecordList] = []
  private var shapedLists: [ShapedList] = []

  /// Lists whose elements are not objects: rows with names first, then the longest.
  func shaped(in body: JSONValue) -> [ShapedList] {
    var lists = shapedLists
    for index in lists.indices { lists[index].findNames(in: body) }
    return lists.enumerated().sorted { one, other in
      let (mine, theirs) = (one.element, other.element)
      if (mine.names == nil) != (theirs.names == nil) { return mine.names != nil }
      return mine.count == theirs.count ? one.offset < other.offset : mine.count > theirs.count
    }.map(\.element)
  }

  /// The depth of lists in known APIs: `data.viewer.repository.issues.edges`.
  private static let maxDepth = 5
  /// A list with more elements does not wrap another one.
  private static let maxWrapping = 4

  /// - Parameter isInner: true for an element of a list.
  mutating func collect(_ value: JSONValue, at: JSONPointer, isInner: Bool = false) {
    if let list = RecordList(value, at: at) { lists.append(list) }
    if !isInner, let list = ShapedList(value, at: at) { shapedLists.append(list) }
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
    if let detail { return detail.note.map { [$0] } ?? [] }
    var notes = (shaped.map { [$0.choice] } ?? []) + longer.prefix(2).map(\.note)
    if strangers > 0 {
      notes.append(
        .remark(
          .records,
          text: "\(strangers) of the \(strangers + records.count) elements are not objects; a sync rejects them"))
    }
    let parent = at.segments.dropLast()
    let siblings = others.filter { $0.segments.count == at.segments.count && $0.segments.starts(with: parent) }
    if let name = at.segments.last, !siblings.isEmpty, name.contains(where: \.isASCIIDigit) {
      notes.append(
        .remark(
          .records,
          text:
            "the records are in \(siblings.count + 1) lists, one for each member of \(JSONPointer(segments: Array(parent))). "
            + "No definition reads them together: this one reads one list only. Look for an address that lists all records, "
            + "or that lists one member at a time (windows, CHILDREN.md)"))
    }
    if !others.isEmpty {
      let places = others.prefix(4).map(\.description).joined(separator: ", ")
      notes.append(.remark(.records, text: "other lists of objects in the answer: \(places)"))
    }
    return notes
  }
}

// MARK: No list

extension RecordList {
  /// A clause that contains names of the answer, but no values.
  fileprivate static func description(of body: JSONValue, noun: String?) -> String {
    switch body {
    case .list(let elements) where elements.isEmpty: "the answer is an empty list"
    case .list: "the answer is a list without objects in it"
    case .object(let members) where members.isEmpty: "the answer is an empty object"
    case .object(let members): description(of: members, in: body, noun: noun)
    case .null, .boolean, .number, .text: "the answer is neither a list nor an object"
    }
  }

  private static func description(of members: [JSONValue.Member], in body: JSONValue, noun: String?) -> String {
    if members.contains(where: { [$0.name] == errors && $0.value.elements.contains(where: \.isObject) }) {
      return "the answer reports errors, and has no list of records"
    }
    if let empty = members.first(where: { $0.value == .list([]) }) {
      return "the list at \(JSONPointer(segments: [empty.name])) is empty"
    }
    if let null = nullList(in: body, noun: noun) { return "the list at \(null) is null" }
    if let total = EmptyLists.emptyTotal(in: body) { return "the answer has no records: \(total) is 0" }
    let names = members.prefix(5).map(\.name.tomlString).joined(separator: ", ")
    let more = members.count > 5 ? " and \(members.count - 5) more" : ""
    return "the answer is an object without a list of objects in it: it has \(names)\(more)"
  }

  /// A null in the place of a list, by its name.
  private static func nullList(in body: JSONValue, noun: String?) -> JSONPointer? {
    body.members.first { member in
      let word = member.name.word
      let isNamed = noun.map { Noun.singular($0.word) == Noun.singular(word) && word != Noun.singular(word) } ?? false
      return member.value == .null && (isNamed || Vocabulary.listNames.contains(word))
    }.map { JSONPointer(segments: [$0.name]) }
  }

  fileprivate static func hint(of body: JSONValue, noun: String?) -> String {
    let isEmpty = body == .list([]) || body.members.contains { $0.value == .list([]) }
    if isEmpty { return "give the address of a page that has records" }
    if body[JSONPointer(segments: errors)]?.elements.contains(where: \.isObject) == true {
      return "read the errors, and send the request that the API's documentation describes"
    }
    guard body.isObject else { return "give the address of a list" }
    if nullList(in: body, noun: noun) != nil { return hint(noRecords: "null") }
    let isFault = body.members.contains { ["error", "fault", "message", "errors"].contains($0.name) }
    if isFault { return "read what the answer says, and give the address of a list" }
    if body.members.isEmpty || EmptyLists.emptyTotal(in: body) != nil { return hint(noRecords: "absent") }
    return "give the address of a list, or for one record of each parent add --of RESOURCE.COLUMN=VALUE; "
      + "if an empty list is left out of the answer, set no_records = [\"absent\"]"
  }

  private static func hint(noRecords form: String) -> String {
    "give the address of a list that has records, and set no_records = [\"\(form)\"] in its definition"
  }
}

extension JSONPointer {
  /// True if the place is called like one element of the object that has it: `orders/order`.
  fileprivate var isElement: Bool {
    guard let name = segments.last?.word, let list = segments.dropLast().last?.word else { return false }
    return name != list && name == Noun.singular(list)
  }

  fileprivate func isInside(_ other: JSONPointer) -> Bool {
    segments.count > other.segments.count && segments.starts(with: other.segments)
  }
}

extension JSONValue {
  /// The place of an object that is called like one element of the object that has it; nil without one.
  fileprivate func element(below at: JSONPointer, depth: Int) -> JSONPointer? {
    if at.isElement, isObject { return members.contains { $0.value.isScalar } ? at : nil }
    guard depth > 0 else { return nil }
    return members.lazy.compactMap { $0.value.element(below: at.appending($0.name), depth: depth - 1) }.first
  }
}

extension ShapedList {
  /// True if the list at that place is the value of one member of this map.
  fileprivate func isMap(with list: JSONPointer) -> Bool {
    shape.isMap && Array(list.segments.dropLast()) == at.segments
  }
}

extension JSONValue {
  /// The members of an object; empty for any other value.
  var members: [Member] { if case .object(let members) = self { members } else { [] } }

  var isObject: Bool { if case .object = self { true } else { false } }

  var isList: Bool { if case .list = self { true } else { false } }
}

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

/// An answer that is one record: the detail of a parent.
struct DetailAnswer {
  /// Place of the record; empty for the answer itself.
  let at: JSONPointer
  let record: JSONValue
  /// The list that the answer has too, if it might have the records; else nil.
  private(set) var list: JSONPointer?

  /// nil if the answer is a list.
  /// - Parameters:
  ///   - list: the most likely list in the answer; nil without a list.
  ///   - noun: the kind of record that the address names.
  init?(in answer: ListAnswer, beside list: RecordList?, noun: String?) {
    guard let asked = answer.asked, let parent = asked.parents.last, answer.body.isObject else { return nil }
    at = Self.place(in: answer.body, names: [noun, parent.column.resource].compactMap(\.self))
    guard let record = answer.body[at], record.members.contains(where: { $0.value.isScalar }) else { return nil }
    self.record = record
    if list == nil, at.isWhole, EmptyLists.emptyTotal(in: answer.body) != nil { return nil }
    guard let list else { return }
    let keys = Set(asked.parents.map(\.column.column.word)).union(["id"])
    let isIdentified = record.members.contains { keys.contains($0.name.word) && $0.value.isScalar }
    let isOwnAddress = asked.address.path.endsWithParent
    if Self.isList(list, noun: noun, isIdentified: isIdentified, isOwnAddress: isOwnAddress) { return nil }
    if list.shaped == nil { self.list = list.at }
  }

  /// True if the list has the records of the answer, and is not a field of one record.
  private static func isList(_ list: RecordList, noun: String?, isIdentified: Bool, isOwnAddress: Bool) -> Bool {
    if isOwnAddress, isIdentified { return false }
    let name = list.at.segments.last?.word ?? ""
    let isNamed = noun.map { Noun.singular($0.word) == Noun.singular(name) } ?? false
    if isNamed || Vocabulary.listNames.contains(name) || list.shaped?.shape.isMap == true { return true }
    return !isIdentified && list.shaped == nil
  }

  /// The answer, or an object in it that is the only member or has the name of a record.
  private static func place(in body: JSONValue, names: [String]) -> JSONPointer {
    let whole = JSONPointer()
    let words = Set(names.map { Noun.singular($0.word) })
    let objects = body.members.filter(\.value.isObject)
    if body.members.count == 1, let only = objects.first { return whole.appending(only.name) }
    guard !body.members.contains(where: { $0.name.word == "id" }) else { return whole }
    let named = objects.first { words.contains($0.name.word) || Vocabulary.vagueNouns.contains($0.name.word) }
    return named.map { whole.appending($0.name) } ?? whole
  }

  /// Note about a list beside the record; nil without such a list.
  var note: Note? {
    list.map { .unseen(.style, text: "whether the answer is one record: it has a list of objects at \($0), too") }
  }
}

extension String {
  /// True if the path leads to what belongs to a parent's value: `/items/{item.id}.json`.
  fileprivate var endsWithParent: Bool {
    split(separator: "/").last.map { !ParentColumn.all(in: String($0)).isEmpty } ?? false
  }
}
