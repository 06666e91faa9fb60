package import RosterCore

extension ValueType<[Request.Header]> {
  /// A table of header names with their values as strings. Messages do not repeat a value.
  /// - Parameter shown: the value as `check` prints it.
  package static func headers(shown: @escaping @Sendable (Request.Header) -> String) -> Self {
    Self(
      name: "a table of strings", allowed: "header names with their values as strings", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .table(let items) = item else { throw Mistakes(item.isNotShown("a table of strings")) }
        let entries = items.list.sorted { $0.name < $1.name }
        let first = Dictionary(entries.map { ($0.name.lowercased(), $0.name) }) { first, _ in first }
        let mistakes = entries.compactMap { mistake($0.name, item: $0.item, first: first[$0.name.lowercased()]) }
        guard mistakes.isEmpty else { throw Mistakes(mistakes) }
        return entries.compactMap { entry in
          if case .string(let value) = entry.item { Request.Header(entry.name, value) } else { nil }
        }
      },
      write: { headers in
        .table(TOMLMembers(headers.map { .init(name: $0.name, item: .string(shown($0))) }, quotesNames: true))
      })
  }

  /// - Parameter first: the first header with this name, regardless of case.
  private static func mistake(_ name: String, item: TOMLItem, first: String?) -> Mistake? {
    guard name.isHTTPToken else {
      return Mistake("is not a header name", allowed: HeaderText.allowedInName, entry: name)
    }
    guard !HeaderText.isOwn(name) else {
      return Mistake("is rosterd's own to send", allowed: "any other header", entry: name)
    }
    if let first, first != name {
      return Mistake("is given twice, as \(first) too", allowed: "each header once, in any case", entry: name)
    }
    guard case .string(let value) = item else {
      return Mistake(item.isNotShown("a string"), allowed: "a string", entry: name)
    }
    return HeaderText.mistake(in: value).map { Mistake("its value \($0)", allowed: "one line of text", entry: name) }
  }
}
