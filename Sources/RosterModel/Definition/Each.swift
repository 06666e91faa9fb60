/// `[resource.NAME.each]`: the resource has one list for each record of its parent (E1).
package struct Each: Sendable, Equatable {
  /// How often each list is pulled whole.
  package enum Whole: Sendable, Equatable {
    case inEachSync
    /// Again at an age between half of this time and all of it (E3.4).
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
  /// A list is pulled again if one of these columns of its parent changed (E3.2).
  package var changed: [String]
  /// How often each list is pulled whole.
  package var wholeEvery: Whole
  /// If all conditions of one of these are true, the list is empty and not requested (E4.1); empty without `empty`.
  package var empty: [[ParentCondition]]
  /// Statuses under an older name of `no_records`; nil if the definition lacks it.
  package var emptyStatuses: [Int]?

  /// The windows of the parent; nil if it has other records. Not a key: the parent's definition decides.
  package var windows: Windows?

  /// `wholeEvery` nil means the default of the contract. `empty` is one table of conditions.
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

  /// Age at which a list is pulled whole again: between half of the period and all of it (E3.4).
  /// - Parameter spread: any number of the list.
  package func dueAge(_ period: Duration, spread: UInt64) -> Double {
    period.seconds * (0.5 + Double(spread % 1024) / 2048)
  }

  /// True if a time among the parent's `changed` columns is so young that the parent may change again within the same
  /// time stamp (E3.3).
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
  /// The placeholders of the definition, `since` included, by the key that has them (R5.2).
  package var parentColumns: [(key: String, column: ParentColumn)] {
    let own = listing.parentColumns
    let since = since?.listing.parentColumns.filter { found in !own.contains { $0 == found } } ?? []
    let tests = conditions.flatMap { $0.test.parentColumns.map { ("where", $0) } }
    let start = [("since.value", self.since?.value), ("since.from", self.since?.from)].flatMap { key, text in
      ParentColumn.all(in: text ?? "").map { (key, $0) }
    }
    return own + since.map { ("since.\($0.key)", $0.column) } + start + tests
      + ParentColumn.all(in: keyQuestion?.text ?? "").map { ("by_key", $0) }
  }

  /// The columns of ancestors that each list of the resource depends on, each once.
  package var neededParentColumns: [ParentColumn] {
    guard let each else { return [] }
    let own = (each.changed + each.emptyColumns).map { ParentColumn(each.parent, $0) }
    return (own + parentColumns.map(\.column)).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }
}

extension Listing {
  /// The columns of ancestors that are in the address of each page.
  package var addressColumns: [ParentColumn] { parentColumns.map(\.column) }

  fileprivate var parentColumns: [(key: String, column: ParentColumn)] {
    ParentColumn.all(in: path).map { ("path", $0) }
      + query.flatMap { parameter in parameter.value.parentColumns.map { ("query", $0) } }
      + body.texts.flatMap(ParentColumn.all).map { ("body", $0) }
      + headers.flatMap { ParentColumn.all(in: $0.value) }.map { ("headers", $0) }
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
