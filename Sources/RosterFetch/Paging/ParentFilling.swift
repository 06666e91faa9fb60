package import RosterCore

extension Resource {
  /// The definition of one list: each placeholder of an ancestor's column is replaced by its value. A path that
  /// is only a placeholder stays, since the list begins at an address (`Paging.startingAt`).
  ///
  /// `{today}` must be replaced first, because a value may contain such a text.
  package func filled(with values: ParentValues) throws(ParentValueFault) -> Resource {
    let needed = parentColumns.map(\.column)
    if needed.isEmpty { return self }
    for column in needed where !values.hasText(at: column) {
      throw ParentValueFault.empty(column)
    }
    let filling = ParentFilling(values: values)
    var filled = self
    filled.listing = try filling.filled(listing)
    if var since {
      since.listing = try filling.filled(since.listing)
      since.value = filling.filled(text: since.value)
      since.from = since.from.map { filling.filled(text: $0) }
      filled.since = since
    }
    filled.conditions = conditions(with: values)
    if let keyQuestion {
      filled.keyQuestion?.path = try filling.filled(path: keyQuestion.path)
      filled.keyQuestion?.body = filling.filled(keyQuestion.body)
    }
    return filled
  }
}

/// Replaces placeholders. Each of them has a value that is not empty.
private struct ParentFilling {
  var values: ParentValues

  func filled(_ listing: Listing) throws(ParentValueFault) -> Listing {
    var filled = listing
    if let column = listing.pathColumn {
      filled.path = column.placeholder + (try self.filled(path: listing.pathRest))
    } else {
      filled.path = try self.filled(path: listing.path)
    }
    for index in listing.query.indices { filled.query[index].value = listing.query[index].value.filled(with: values) }
    filled.body = self.filled(listing.body)
    for index in listing.headers.indices {
      filled.headers[index].value = self.filled(text: listing.headers[index].value)
    }
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

  func filled(text: String) -> String { ParentColumn.filling(text) { values[$0]?.queryText ?? "" } }

  func filled(_ value: JSONValue) -> JSONValue {
    switch value {
    case .text(let text): Resource.Scalar.text(text).filled(with: values).json
    case .list(let elements): .list(elements.map { filled($0) })
    case .object(let members): .object(members.map { .init($0.name, filled($0.value)) })
    case .null, .boolean, .number: value
    }
  }
}
