/// The differences between two states of a record, as stored in `changes`.
struct RecordDiff: Equatable {
  struct Field: Equatable {
    /// Name of the field: `status`, `extra.origin.dimension`.
    var name: String
    /// The value in the form for people; nil if the field did not exist.
    var before: String?
    var after: String?

    /// The difference as text: `status: Alive → Dead`.
    var line: String { "\(name): \(earlier) → \(later)" }
    var earlier: String { before ?? Self.none }
    var later: String { after ?? Self.none }
    private static let none = "(none)"
  }

  struct List: Equatable {
    var name: String
    var added: [String]
    var removed: [String]
    /// True if the elements are equal and only their order differs.
    var isReordered: Bool

    /// A line for each added or removed element.
    var lines: [String] {
      added.map { "+ \(name): \($0)" } + removed.map { "− \(name): \($0)" }
        + (isReordered ? ["\(name): in another order"] : [])
    }

    /// The numbers of added and removed elements.
    var sum: String {
      if isReordered { return "\(name): in another order" }
      return name + (added.isEmpty ? "" : " +\(added.count)") + (removed.isEmpty ? "" : " −\(removed.count)")
    }
  }

  var fields: [Field] = []
  /// The lists that differ.
  var lists: [List] = []

  /// Compares two JSON objects that contain the columns, `extra` and the lists of a record. Names and values are
  /// compared byte by byte, as the cache compares them.
  init(before: String, after: String) {
    let (old, new) = (Parts(before), Parts(after))
    for name in old.fields.names + new.fields.names.filter({ old.fields[$0] == nil }) {
      let (before, after) = (old.fields[name], new.fields[name])
      if !Self.isSame(before, after) { fields.append(Field(name: name, before: before, after: after)) }
    }
    for name in old.lists.names + new.lists.names.filter({ old.lists[$0] == nil }) {
      let (earlier, later) = (old.lists[name] ?? [], new.lists[name] ?? [])
      guard !earlier.elementsEqual(later, by: Self.isSame) else { continue }
      let (added, removed) = (Self.without(later, earlier), Self.without(earlier, later))
      lists.append(List(name: name, added: added, removed: removed, isReordered: added.isEmpty && removed.isEmpty))
    }
  }

  /// The elements that another list lacks, each with its multiplicity.
  private static func without(_ list: [String], _ other: [String]) -> [String] {
    var left = Dictionary(other.map { (Array($0.utf8), 1) }, uniquingKeysWith: +)
    return list.filter { element in
      let element = Array(element.utf8)
      guard let count = left[element], count > 0 else { return true }
      left[element] = count - 1
      return false
    }
  }

  private static func isSame(_ one: String?, _ other: String?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one.utf8.elementsEqual(other.utf8)
  }

  /// Names with their values, in the order of insertion.
  private struct Named<Value> {
    private(set) var names: [String] = []
    private var values: [[UInt8]: Value] = [:]

    subscript(name: String) -> Value? { values[Array(name.utf8)] }

    mutating func append(_ name: String, _ value: Value) {
      if values.updateValue(value, forKey: Array(name.utf8)) == nil { names.append(name) }
    }
  }

  private struct Parts {
    var fields = Named<String>()
    var lists = Named<[String]>()

    init(_ record: String) {
      for (name, value) in JSONMembers.of(record) {
        if name == "extra" {
          for field in RecordDiff.extra(value, below: name) { fields.append(field.name, field.text) }
        } else if value.hasPrefix("[") {
          lists.append(name, RecordDiff.elements(value))
        } else if value != "null" {
          fields.append(name, RecordDiff.quotedIfBlank(JSONMembers.shown(value)))
        }
      }
    }
  }

  /// Adds quotes to a text whose beginning or end would be invisible.
  private static func quotedIfBlank(_ text: String) -> String {
    text.isEmpty || text.hasPrefix(" ") || text.hasSuffix(" ") ? "“\(text)”" : text
  }

  /// The elements of a list in the form for people; an object is shown by its members that are not empty.
  static func elements(_ list: String) -> [String] {
    JSONMembers.list(list).map { element in
      guard element.hasPrefix("{") else { return JSONMembers.text(element) ?? element }
      return JSONMembers.of(element).map { ($0.name, JSONMembers.shown($0.value)) }
        .filter { !$0.1.isEmpty }.map { "\($0.0): \($0.1)" }.joined(separator: ", ")
    }
  }

  /// The fields without a column, each with its JSON in upstream's spelling. The fields of a nested object are listed
  /// individually.
  static func extra(_ object: String, below path: String) -> [(name: String, text: String)] {
    JSONMembers.of(object).flatMap { name, value in
      let path = "\(path).\(name)"
      let inner = extra(value, below: path)
      return inner.isEmpty ? [(path, value)] : inner
    }
  }
}
