package import RosterCore

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
    JSONWriter.object { json in
      for entry in entries { json.member(entry.column.name, entry.value?.json ?? .null) }
    }.text
  }
}
