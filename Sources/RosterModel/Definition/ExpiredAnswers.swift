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
  package func isMet(by answer: JSONValue) -> Bool {
    let value = answer[at].flatMap { $0 == .null ? nil : $0 }
    return switch test {
    case .absent: value == nil
    case .present: value != nil
    case .equal(let scalar): value?.equals(scalar) ?? false
    case .differs(let scalars): value.map { value in !scalars.contains { value.equals($0) } } ?? true
    }
  }
}

extension JSONValue {
  fileprivate func equals(_ scalar: Resource.Scalar) -> Bool {
    switch (self, scalar) {
    case (.text(let text), .text(let other)): text.utf8.elementsEqual(other.utf8)
    case (.boolean(let flag), .boolean(let other)): flag == other
    case (.number(let digits), .integer(let other)):
      Int64(digits) ?? Double(digits).flatMap { Int64(exactly: $0) } == other
    case (.number(let digits), .real(let other)): Double(digits) == other
    default: false
    }
  }
}
