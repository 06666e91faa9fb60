/// Values of columns of a list's ancestors: everything that the list depends on.
package struct ParentValues: Sendable, Equatable {
  /// A column with its value; nil for NULL.
  package struct Entry: Sendable, Equatable {
    /// The column of an ancestor.
    package var column: ParentColumn
    /// Its value; nil for NULL.
    package var value: Resource.Scalar?

    /// Makes an entry.
    package init(_ column: ParentColumn, _ value: Resource.Scalar?) {
      self.column = column
      self.value = value
    }
  }

  /// Each column once.
  package private(set) var entries: [Entry]

  /// The entries keep their order.
  package init(_ entries: [Entry]) { self.entries = entries }

  /// nil for NULL, and for a column that is not among the entries.
  package subscript(column: ParentColumn) -> Resource.Scalar? {
    entries.first { $0.column == column }?.value
  }
}

/// The reason why a list cannot be requested with the values of its parent.
package enum ParentValueFault: Error, Sendable, Equatable {
  /// The column is NULL or empty, so that the list is empty.
  case empty(ParentColumn)
  /// A whole segment of a path would be `.` or `..`, so that the list has failed.
  case dots(ParentColumn)
}

extension Listing {
  /// The column whose value is the address of the list, if `path` begins with its placeholder.
  package var pathColumn: ParentColumn? { pathStart?.column }

  /// The part of `path` after that placeholder: empty, or segments that begin with a slash.
  package var pathRest: String { pathStart.map { String($0.rest) } ?? "" }

  private var pathStart: (column: ParentColumn, rest: Substring)? {
    guard path.hasPrefix("{"), let end = path.firstIndex(of: "}"),
      let column = ParentColumn(whole: String(path[...end]))
    else { return nil }
    return (column, path[path.index(after: end)...])
  }
}

extension Resource {
  /// True if each list is one record that has no key of its own.
  package var isDetail: Bool { each != nil && pages.style.kind.isRecord }
}

extension Resource {
  /// The entries of `where` in a list with these ancestors: each placeholder is replaced by its value.
  package func conditions(with values: ParentValues) -> [Condition] {
    conditions.map { condition in
      switch condition.test {
      case .absent, .present: condition
      case .equal(let scalar): Condition(condition.at, .equal(scalar.filled(with: values)))
      case .differs(let scalars): Condition(condition.at, .differs(scalars.map { $0.filled(with: values) }))
      }
    }
  }

  /// True if `where` depends on the ancestors of a list.
  package var hasParentConditions: Bool { conditions.contains { !$0.test.parentColumns.isEmpty } }
}

extension Resource.Scalar {
  /// Replaces each placeholder of a text by its value. A text that is only a placeholder has the type of its column.
  package func filled(with values: ParentValues) -> Resource.Scalar {
    guard case .text(let text) = self else { return self }
    if let column = ParentColumn(whole: text), let value = values[column] { return value }
    return .text(ParentColumn.filling(text) { values[$0]?.queryText ?? "" })
  }
}

extension Each {
  /// True if the list of a parent with these values is empty and not requested.
  package func isEmpty(by values: ParentValues) -> Bool {
    empty.contains { $0.allSatisfy { $0.test.holds(for: values[ParentColumn(parent, $0.column)]) } }
  }
}

extension ParentValues {
  /// False if the column is NULL or empty, so that a request cannot name it.
  package func hasText(at column: ParentColumn) -> Bool { self[column].map { $0 != .text("") } ?? false }
}

extension Resource.Condition.Test {
  /// Tests the value of a column; nil is NULL.
  package func holds(for value: Resource.Scalar?) -> Bool {
    switch self {
    case .absent: value == nil
    case .present: value != nil
    case .equal(let scalar): value.map(scalar.isEqual) ?? false
    case .differs(let scalars): value.map { value in !scalars.contains { $0.isEqual(to: value) } } ?? true
    }
  }
}

extension Resource.Scalar {
  /// Numbers are equal by value: 1 and 1.0 are equal. The cache stores true as 1 and false as 0.
  fileprivate func isEqual(to stored: Resource.Scalar) -> Bool {
    switch (self, stored) {
    case (.integer(let integer), .real(let real)), (.real(let real), .integer(let integer)):
      Int64(exactly: real) == integer
    case (.boolean(let flag), .integer(let integer)): integer == (flag ? 1 : 0)
    // SQLite and `where` compare bytes, as `==` does.
    default: self == stored
    }
  }
}
