extension Resource {
  /// Form of a record in an answer. Each is read as an object.
  package enum Shape: String, Sendable, CaseIterable {
    case objects
    /// Elements of any kind; one that is not an object is `{"value": ELEMENT}`.
    case values
    /// Members of an object; the name of a member is `@key` of its record.
    case map
    /// Lists, whose values have names of their own or are called by their number.
    case rows

    /// The field that has a value that is not an object.
    package static let value = "value"
    /// The field that has the name of a member of a map.
    package static let memberName = "@key"
  }
}

extension Resource.Shape {
  /// True if a record is the object that upstream sends.
  package var isPlain: Bool { self == .objects }
  /// True if the records are members of an object, which has their names.
  package var isMap: Bool { self == .map }
  /// True if the records are lists of values.
  package var isRows: Bool { self == .rows }

  /// True if a record need not be an object, and then is the value of a field.
  package var wrapsValues: Bool {
    switch self {
    case .values, .map: true
    case .objects, .rows: false
    }
  }

  /// True if a list can be one record.
  package var readsLists: Bool {
    switch self {
    case .values, .rows: true
    case .objects, .map: false
    }
  }
}
