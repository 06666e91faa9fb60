extension Resource.Scalar {
  /// nil for null, lists and objects.
  package init?(json: JSONValue) {
    switch json {
    case .text(let text): self = .text(text)
    case .boolean(let flag): self = .boolean(flag)
    case .number(let digits):
      guard let number = Double(digits) else { return nil }
      self = Int64(digits).map { .integer($0) } ?? .real(number)
    case .null, .list, .object: return nil
    }
  }

  /// The same value in JSON.
  package var json: JSONValue {
    switch self {
    case .text(let text): .text(text)
    case .integer(let number): .integer(number)
    case .real(let number): .number(number.description)
    case .boolean(let flag): .boolean(flag)
    }
  }

  /// The value of a query parameter.
  package var queryText: String { json.queryText }
}
