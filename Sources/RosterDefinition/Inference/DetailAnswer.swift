import RosterCore

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
