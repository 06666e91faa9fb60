/// `[resource.NAME.each]`: the resource has one list for each record of its parent.
package struct Each: Sendable, Equatable {
  /// How often each list is pulled whole.
  package enum Whole: Sendable, Equatable {
    case inEachSync
    /// Again at an age between half of this time and all of it.
    case every(Duration)
    case never
  }

  /// A condition on a column of the parent.
  package struct ParentCondition: Sendable, Equatable {
    /// Name of the column.
    package var column: String
    /// The test of its value, as in `where`.
    package var test: Resource.Condition.Test

    /// Makes a condition.
    package init(_ column: String, _ test: Resource.Condition.Test) {
      self.column = column
      self.test = test
    }
  }

  /// Name of the parent resource (`of`).
  package var parent: String
  /// A list is pulled again if one of these columns of its parent changed.
  package var changed: [String]
  /// How often each list is pulled whole.
  package var wholeEvery: Whole
  /// If all conditions of one of these are true, the list is empty and not requested; empty without `empty`.
  package var empty: [[ParentCondition]]
  /// Statuses under an older name of `no_records`; nil if the definition lacks it.
  package var emptyStatuses: [Int]?

  /// The windows of the parent; nil if it has other records. Not a key: the parent's definition decides.
  package var windows: Windows?

  /// `wholeEvery` nil means the documented default. `empty` is one table of conditions.
  package init(
    of parent: String, changed: [String] = [], wholeEvery: Whole? = nil, empty: [ParentCondition] = []
  ) {
    self.parent = parent
    self.changed = changed
    self.wholeEvery = wholeEvery ?? Self.usualWhole(changed)
    self.empty = empty.isEmpty ? [] : [empty]
  }

  /// The columns that `empty` tests.
  package var emptyColumns: [String] { empty.flatMap { $0.map(\.column) } }

  /// `wholeEvery` as the key `whole_every` can say it: nil for each sync.
  package var period: Whole? {
    get { wholeEvery == .inEachSync ? nil : wholeEvery }
    set { wholeEvery = newValue ?? .inEachSync }
  }

  /// The default of `whole_every`.
  package static func usualWhole(_ changed: [String]) -> Whole {
    changed.isEmpty ? .inEachSync : .every(.seconds(7 * 86_400))
  }

  /// Age at which a list is pulled whole again: between half of the period and all of it.
  /// - Parameter spread: any number of the list.
  package func dueAge(_ period: Duration, spread: UInt64) -> Double {
    period.seconds * (0.5 + Double(spread % 1024) / 2048)
  }

  /// True if a time among the parent's `changed` columns is so young that the parent may change again within the same
  /// time stamp.
  /// - Parameters:
  ///   - asked: JSON list of the columns.
  ///   - answered: `Date` of the last answer, in seconds since 1970.
  package static func isYoung(_ asked: String, answered: Double) -> Bool {
    asked.split(separator: "\"").contains { text in
      // A date without a time of day is not a time.
      guard text.utf8.count > 10, let time = Mark(String(text), form: .rfc3339, zone: 0) else { return false }
      // A time without a zone may be that of a zone up to 14 h ahead. A later one is no time of a change.
      return (-86_400..<300).contains(answered - Double(time.value) / Double(Timestamp.second))
    }
  }

  /// Largest number of steps between a resource and its outermost ancestor.
  package static let maxSteps = 3
}

extension Resource {
  /// The placeholders of the definition with their places. The list has an inherited one twice.
  package var placedColumns: [PlacedColumn] {
    let since = since.map { since in
      [("since.value", since.value), ("since.from", since.from ?? "")].flatMap { PlacedColumn.all(in: $1, at: $0) }
        + since.listing.placedColumns.map { PlacedColumn(key: "since.\($0.key)", entry: $0.entry, column: $0.column) }
    }
    let tests = conditions.flatMap { condition in
      condition.test.parentColumns.map { PlacedColumn(key: "where", entry: [condition.at.description], column: $0) }
    }
    return listing.placedColumns + (since ?? []) + tests
      + PlacedColumn.all(in: keyQuestion?.text ?? "", at: "by_key")
  }

  /// The placeholders of the definition, without those that `since` inherits.
  package var parentColumns: [PlacedColumn] {
    let all = placedColumns
    return all.filter { placed in !all.contains { "since.\($0.key)" == placed.key && $0.column == placed.column } }
  }

  /// The columns of ancestors that each list of the resource depends on, each once.
  package var neededParentColumns: [ParentColumn] {
    guard let each else { return [] }
    let own = (each.changed + each.emptyColumns).map { ParentColumn(each.parent, $0) }
    return (own + parentColumns.map(\.column)).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }
}

/// A placeholder `{RESOURCE.COLUMN}`, and its place in a definition.
package struct PlacedColumn: Sendable {
  /// The key, such as `since.query`.
  package let key: String
  /// The path of the entry; empty if the key has no table.
  package let entry: [String]
  /// The column that the placeholder names.
  package let column: ParentColumn

  fileprivate static func all(in text: String, at key: String, _ entry: [String] = []) -> [PlacedColumn] {
    ParentColumn.all(in: text).map { PlacedColumn(key: key, entry: entry, column: $0) }
  }
}

extension Listing {
  fileprivate var placedColumns: [PlacedColumn] {
    PlacedColumn.all(in: path, at: "path")
      + query.flatMap { parameter in
        parameter.value.parentColumns.map { PlacedColumn(key: "query", entry: [parameter.name], column: $0) }
      }
      + body.placedTexts.flatMap { PlacedColumn.all(in: $0.text, at: "body", $0.place) }
      + headers.flatMap { PlacedColumn.all(in: $0.value, at: "headers", [$0.name]) }
  }
}

extension Resource.Scalar {
  /// The columns that a text names.
  package var parentColumns: [ParentColumn] {
    if case .text(let text) = self { ParentColumn.all(in: text) } else { [] }
  }
}

extension Resource.Condition.Test {
  var parentColumns: [ParentColumn] {
    switch self {
    case .absent, .present: []
    case .equal(let value): value.parentColumns
    case .differs(let values): values.flatMap(\.parentColumns)
    }
  }
}

extension Resource {
  /// The column with the record id of the parent; nil without a parent.
  package var parentColumn: String? { each.map { "\($0.parent)_id" } }
}
