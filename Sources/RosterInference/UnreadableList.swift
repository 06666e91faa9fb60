import RosterModel

/// A list whose elements are not objects, or an object whose members look like records: no definition can read it.
struct UnreadableList {
  /// The kind of elements.
  enum Form: String {
    case rows, values, map
  }

  var at: JSONPointer
  var form: Form
  /// Number of elements, or of members.
  var count: Int

  /// nil if the value is something else.
  init?(_ value: JSONValue, at: JSONPointer) {
    let word = at.segments.last?.word ?? ""
    guard !Vocabulary.sideListNames.contains(word), !Vocabulary.hypermedia.contains(word) else { return nil }
    self.at = at
    switch value {
    case .list(let elements):
      guard !elements.isEmpty, !elements.contains(where: \.isObject) else { return nil }
      form = elements.contains(where: \.isList) ? .rows : .values
      count = elements.count
    case .object(let members):
      guard Self.isMap(members.map(\.value)) else { return nil }
      form = .map
      count = members.count
    case .null, .boolean, .number, .text: return nil
    }
  }

  /// True for at least two objects that have scalars, and half of their members in common.
  private static func isMap(_ values: [JSONValue]) -> Bool {
    guard values.count > 1, values.allSatisfy(\.isObject) else { return false }
    return Shape(of: values).hasCommonMembers && values.allSatisfy { $0.members.contains { $0.value.isScalar } }
  }

  private var contents: String {
    switch form {
    case .rows: "\(count) elements that are arrays, which rosterd cannot read yet"
    case .values: "\(count) elements that are not objects, which rosterd cannot read yet"
    case .map: "\(count) members that look like records, which rosterd cannot read yet"
    }
  }

  /// A clause with the place, but without values of the answer.
  var description: String { "\(at.named) has \(contents)" }

  /// An alternative for the user.
  var hint: String {
    switch form {
    case .rows: "ask for objects if the API can send them (Datasette: ?_shape=objects)"
    case .values, .map: "give the address of a list of objects"
    }
  }

  var note: Note {
    let advice = form == .rows ? "; \(hint)" : ""
    return .unseen(
      .records,
      "whether the records are at \(at.named): it has \(contents) "
        + "(shape = \(form.rawValue.tomlString) is planned)\(advice)")
  }
}

extension JSONPointer {
  /// The pointer as a noun in a sentence.
  var named: String { isWhole ? "the answer" : description }
}

extension JSONValue {
  fileprivate var isScalar: Bool {
    switch self {
    case .boolean, .number, .text: true
    case .null, .list, .object: false
    }
  }
}
