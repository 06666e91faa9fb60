import RosterJSON
package import RosterModel

extension ParentValues {
  /// Reads an object such as `{"issue.number":5,"issue.title":null}`. nil for anything else.
  package init?(json text: some Sequence<UInt8>) {
    guard case .object(let members)? = try? JSONValue(json: text) else { return nil }
    let entries = members.compactMap { member in
      ParentColumn(name: member.name).flatMap { column in
        member.value == .null
          ? Entry(column, nil) : Resource.Scalar(json: member.value).map { Entry(column, $0) }
      }
    }
    guard entries.count == members.count else { return nil }
    self.init(entries)
  }

  /// The object that `init(json:)` reads.
  package var json: String {
    var json = JSONWriter()
    json.object { json in
      for entry in entries { json.member(entry.column.name, entry.value?.json ?? .null) }
    }
    return json.text
  }
}

extension Resource.Scalar {
  fileprivate init?(json: JSONValue) {
    switch json {
    case .text(let text): self = .text(text)
    case .boolean(let flag): self = .boolean(flag)
    case .number(let digits):
      guard let number = Double(digits) else { return nil }
      self = Int64(digits).map { .integer($0) } ?? .real(number)
    case .null, .list, .object: return nil
    }
  }

  fileprivate var json: JSONValue {
    switch self {
    case .text(let text): .text(text)
    case .integer(let number): .integer(number)
    case .real(let number): .number(number.description)
    case .boolean(let flag): .boolean(flag)
    }
  }
}
