package import RosterModel

extension Resource {
  /// The definition of one list: each placeholder of an ancestor's column is replaced by its value (R5.3). A path that
  /// is only a placeholder stays, since the list begins at an address (`Paging.startingAt`, R5.4).
  ///
  /// `{today}` must be replaced first (R6.1), because a value may contain such a text.
  package func filled(with values: ParentValues) throws(ParentValueFault) -> Resource {
    let needed = parentColumns.map(\.column)
    if needed.isEmpty { return self }
    for column in needed where values[column].map({ $0 == .text("") }) ?? true {
      throw ParentValueFault.empty(column)
    }
    let filling = ParentFilling(values: values)
    var filled = self
    filled.listing = try filling.filled(listing)
    if var since {
      since.listing = try filling.filled(since.listing)
      filled.since = since
    }
    for index in conditions.indices { filled.conditions[index].test = filling.filled(conditions[index].test) }
    if let byKey { filled.byKey = try filling.filled(path: byKey) }
    return filled
  }
}

/// Replaces placeholders. Each of them has a value that is not empty.
private struct ParentFilling {
  var values: ParentValues

  func filled(_ listing: Listing) throws(ParentValueFault) -> Listing {
    var filled = listing
    if listing.pathColumn == nil { filled.path = try self.filled(path: listing.path) }
    for index in listing.query.indices { filled.query[index].value = self.filled(listing.query[index].value) }
    filled.body = self.filled(listing.body)
    return filled
  }

  /// Values are encoded as one segment each, and likewise in a query.
  func filled(path: String) throws(ParentValueFault) -> String {
    for segment in path.prefix(while: { $0 != "?" && $0 != "#" }).split(separator: "/") {
      guard let column = ParentColumn.all(in: String(segment)).first else { continue }
      if [".", ".."].contains(encoded(String(segment))) { throw .dots(column) }
    }
    return encoded(path)
  }

  private func encoded(_ text: String) -> String {
    ParentColumn.filling(text) { QueryText.encoded(values[$0]?.queryText ?? "") }
  }

  /// A text that is only a placeholder has the type of its column.
  func filled(_ scalar: Resource.Scalar) -> Resource.Scalar {
    guard case .text(let text) = scalar else { return scalar }
    if let column = ParentColumn(whole: text), let value = values[column] { return value }
    return .text(ParentColumn.filling(text) { values[$0]?.queryText ?? "" })
  }

  func filled(_ test: Resource.Condition.Test) -> Resource.Condition.Test {
    switch test {
    case .absent, .present: test
    case .equal(let scalar): .equal(filled(scalar))
    case .differs(let scalars): .differs(scalars.map { filled($0) })
    }
  }

  func filled(_ value: JSONValue) -> JSONValue {
    switch value {
    case .text(let text): filled(.text(text)).json
    case .list(let elements): .list(elements.map { filled($0) })
    case .object(let members): .object(members.map { .init($0.name, filled($0.value)) })
    case .null, .boolean, .number: value
    }
  }
}
