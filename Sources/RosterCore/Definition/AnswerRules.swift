/// Conditions on an answer to a page request or to `by_key`, and the forms of an answer without records.
package struct AnswerRules: Sendable, Equatable {
  /// Conditions on the whole answer (`expect`). An answer that does not meet all of them is not an answer.
  package var expect: [Resource.Condition] = []
  /// Places with what an answer lacks (`partial`). If one has a value, the records are stored and nothing is removed.
  package var partial: [JSONPointer] = []
  /// How an answer without a list says that there are no records (`no_records`).
  package var noRecords = NoRecords()
  /// True if one record in place of the list is a list of one (`list_of_one`).
  package var isListOfOne = false

  /// Every answer must have its list, and is whole.
  package init() {}

  /// The forms of an answer without records and without a list. 204 is one of them in any case.
  package struct NoRecords: Sendable, Equatable {
    /// The place of the list is absent.
    package var isAbsent = false
    /// The place of the list is null.
    package var isNull = false
    /// Statuses of the first page, in the order of the definition.
    package var statuses: [Int] = []

    /// No form besides 204.
    package init(isAbsent: Bool = false, isNull: Bool = false, statuses: [Int] = []) {
      self.isAbsent = isAbsent
      self.isNull = isNull
      self.statuses = statuses
    }

    /// True if an answer with the status has no records.
    package func contains(status: Int) -> Bool { status == Self.noContent || statuses.contains(status) }

    /// 204 (RFC 9110 §15.3.5).
    package static let noContent = 204
  }
}

extension Resource.Condition.Test {
  /// True for each value, so that a member of an answer is no sign of a fault.
  package static let any = Self.differs([])

  /// True if a value fulfils the test. Null counts as absent, and numbers are compared by value.
  package func isMet(by value: JSONValue?) -> Bool {
    let value = value == .null ? nil : value
    return switch self {
    case .absent: value == nil
    case .present: value != nil
    case .equal(let scalar): value?.equals(scalar) == true
    case .differs(let scalars): !scalars.contains { value?.equals($0) == true }
    }
  }

  /// The test as a message says it: "is true".
  package var clause: String {
    switch self {
    case .absent: "is absent"
    case .present: "has a value"
    case .equal(let scalar): "is \(scalar.shown)"
    case .differs(let scalars): "is not \(scalars.map(\.shown).joined(separator: " or "))"
    }
  }
}

extension JSONValue {
  fileprivate func equals(_ scalar: Resource.Scalar) -> Bool {
    switch (scalar, self) {
    case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
    case (.boolean(let one), .boolean(let other)): one == other
    case (.integer(let one), .number(let digits)):
      Int64(digits).map { $0 == one } ?? (Double(digits).flatMap { Int64(exactly: $0) } == one)
    case (.real(let one), .number(let digits)): Double(digits) == one
    default: false
    }
  }
}

extension Resource.Scalar {
  fileprivate var shown: String {
    if case .text(let text) = self { "\"\(text)\"" } else { queryText }
  }
}

/// `[auth.expired]`: the answers of pages that call the access token expired, beside a 401.
package struct ExpiredAnswers: Sendable, Equatable {
  /// Laravel, IIS and ArcGIS use these statuses for nothing else.
  package static let usualStatuses = [419, 440, 498]

  /// The statuses that say so.
  package var statuses = usualStatuses
  /// A 2xx answer that meets all of these says so; empty if none does.
  package var conditions: [Resource.Condition] = []

  /// The usual statuses, and no condition.
  package init() {}
}

extension Resource.Condition {
  /// True if the value at the place in this answer passes the test, as `where` tests a record.
  package func isMet(by answer: JSONValue) -> Bool { test.isMet(by: answer[at]) }
}
