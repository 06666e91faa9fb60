import RosterCore

/// A list whose elements are not objects, or an object whose members look like records.
struct ShapedList {
  var at: JSONPointer
  /// Form of the elements; never `objects`.
  var shape: Resource.Shape
  /// Number of elements, or of members.
  var count: Int
  /// The place of the names of a row's values; nil if the answer lacks them.
  var names: JSONPointer?

  /// nil if the value is something else.
  init?(_ value: JSONValue, at: JSONPointer) {
    let word = at.segments.last?.word ?? ""
    guard !Vocabulary.sideListNames.contains(word), !Vocabulary.hypermedia.contains(word) else { return nil }
    self.at = at
    switch value {
    case .list(let elements):
      guard !elements.isEmpty, !elements.contains(where: \.isObject) else { return nil }
      shape = elements.contains(where: \.isList) ? .rows : .values
      count = elements.count
    case .object(let members):
      guard Self.isMap(members.map(\.value)) else { return nil }
      shape = .map
      count = members.count
    case .null, .boolean, .number, .text: return nil
    }
  }

  /// True for at least two objects that have scalars, and half of their members in common.
  private static func isMap(_ values: [JSONValue]) -> Bool {
    if values.allSatisfy(\.isList) { return isMapOfLists(values.map(\.elements)) }
    guard values.count > 1, values.allSatisfy(\.isObject) else { return false }
    return InferredType(of: values).hasCommonMembers && values.allSatisfy { $0.members.contains { $0.value.isScalar } }
  }

  /// With fewer members, each may be a list of another kind of record.
  private static let minLists = 5

  /// True for many lists of the same form (Consul's services, Prometheus's metadata). Lists of scalars that all have
  /// the same length are the columns of one table.
  private static func isMapOfLists(_ lists: [[JSONValue]]) -> Bool {
    guard lists.count >= minLists else { return false }
    let elements = lists.flatMap(\.self)
    if elements.isEmpty || elements.contains(where: \.isList) { return false }
    if elements.allSatisfy(\.isScalar) { return Set(lists.map(\.count)).count > 1 || lists[0].count == 1 }
    return elements.allSatisfy(\.isObject) && InferredType(of: elements).hasCommonMembers
  }

  /// Finds the names of the values of rows: a list of as many different texts beside the rows.
  mutating func findNames(in body: JSONValue) {
    guard shape == .rows, !at.isWhole, case .list(let rows)? = body[at] else { return }
    let width = rows.map(\.elements.count).max()
    let parent = JSONPointer(segments: at.segments.dropLast())
    let list = body[parent]?.members.first { member in
      let texts = member.value.elements.compactMap(\.text)
      return texts.count == width && member.value.elements.count == width && Set(texts).count == width
    }
    names = list.map { parent.appending($0.name) }
  }

  /// The objects that the elements are read as.
  func records(in body: JSONValue) -> [JSONValue] {
    let names = self.names.flatMap { body[$0]?.elements.compactMap(\.text) }
    func named(_ name: String, _ value: JSONValue) -> JSONValue {
      let members = value.isObject ? value.members : [.init(Resource.Shape.value, value)]
      return .object([.init(Resource.Shape.memberName, .text(name))] + members)
    }
    return switch shape {
    case .objects: []
    case .values: body[at]?.elements.map { .object([.init(Resource.Shape.value, $0)]) } ?? []
    case .map: body[at]?.members.map { named($0.name, $0.value) } ?? []
    case .rows:
      (body[at]?.elements ?? []).map { row in
        .object(row.elements.enumerated().map { .init(names?[$0] ?? "\($0)", $1) })
      }
    }
  }

  private var contents: String {
    switch shape {
    case .objects: "\(count) elements"
    case .rows: "\(count) elements that are arrays"
    case .values: "\(count) elements that are not objects"
    case .map: "\(count) members that look like records"
    }
  }

  /// A comment about a list that was not taken.
  var note: Note {
    .unseen(
      .records,
      text:
        "whether the records are at \(at.named): it has \(contents) (shape = \(shape.rawValue.tomlString) reads them)")
  }

  /// A comment about the list that was taken.
  var choice: Note { .remark(.records, text: "\(at.named) has \(contents)") }
}

extension JSONPointer {
  /// The pointer as a noun in a sentence.
  var named: String { isWhole ? "the answer" : description }
}

extension JSONValue {
  /// The elements of a list; empty for any other value.
  var elements: [JSONValue] { if case .list(let elements) = self { elements } else { [] } }

  var isScalar: Bool {
    switch self {
    case .boolean, .number, .text: true
    case .null, .list, .object: false
    }
  }
}
