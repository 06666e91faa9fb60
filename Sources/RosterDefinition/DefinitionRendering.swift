package import RosterCore

extension Resource {
  /// TOML from which the definition can be read again, with defaults filled in and secrets masked.
  /// - Parameters:
  ///   - maxRemoval: `sync.max_removal`, which applies if the definition has no limit of its own.
  ///   - secrets: the parameters that carry secrets. They are masked, like parameters with names of credentials.
  package func rendered(maxRemoval: Int, secrets: Set<String> = []) -> String {
    let masked = secretsMasked(besides: secrets).inlineMasked
    let name = "resource.\(name)"
    let meaningless = !hasOwnRecords ? (isDetail ? ["key"] : []) : Self.keysOfRequests
    var lines = ["[\(name)]"] + Self.keys.filter { !meaningless.contains($0.name) }.lines(of: masked)
    if self.maxRemoval == nil { lines.append("# max_removal: \(maxRemoval), as sync.max_removal has it") }
    if !hasOwnRecords { lines += ["", "[\(name).pages]"] + masked.pages.usedKeys.lines(of: masked.pages) }
    if let since = masked.since { lines += since.lines(besides: masked.listing, below: "\(name).since") }
    if let each { lines += ["", "[\(name).each]"] + Each.keys.lines(of: each) }
    lines += ["", "[\(name).columns]"] + columnItems(isShort: true).list.map { "\($0.name) = \($0.item.toml)" }
    for list in lists {
      lines += ["", "[\(name).lists.\(list.table)]"] + List.keys.lines(of: list)
      lines += ["columns = \(TOMLItem.table(list.columnItems(isShort: true)).toml)"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// All keys of the definition with their values, defaults filled in: `resources.definition` has them as JSON.
  package var definitionItems: TOMLMembers {
    var members = Self.keys.items(of: self)
    if let since { members.list.append(.init(name: "since", item: .table(since.definitionItems))) }
    if let each { members.list.append(.init(name: "each", item: .table(Each.keys.items(of: each)))) }
    members.list += [
      .init(name: "pages", item: .table(pages.definitionItems)),
      .init(name: "columns", item: .table(columnItems(isShort: false))),
      .init(name: "lists", item: .table(TOMLMembers(lists.map { .init(name: $0.table, item: .table($0.items)) }))),
    ]
    return members
  }

  private func columnItems(isShort: Bool) -> TOMLMembers {
    let key = isDetail ? [] : Set(keyColumns ?? [])
    return TOMLMembers(
      columns.enumerated().map { .init(name: $1.name, item: $1.item(isKey: key.contains($0), isShort: isShort)) })
  }

  /// The definition of a stored JSON. nil if rosterd did not write it. A value that this version refuses has its
  /// default, unless the tables or the reading of records depend on it.
  package init?(stored json: JSONValue, name: String) {
    var reader = DefinitionsReader()
    guard let resource = reader.storedDefinition(json, name: name),
      !Self.keysOfStoredRecords.contains(where: { reader.faults.holds([$0]) })
    else { return nil }
    self = resource
  }

  private static let keysOfStoredRecords = [
    "key", "table", "columns", "lists", "records", "shape", "row_names", "where", "search", "removal", "each", "pages",
    "inline", "windows", "partial", "list_of_one", "query", "body",
  ]
}

extension Since {
  /// All keys of the table, those of the listing included.
  package var definitionItems: TOMLMembers {
    var members = Self.keys.items(of: self)
    members.list.append(.init(name: "pages", item: .table(listing.pages.definitionItems)))
    return members
  }

  /// The lines of the table. A key of the listing with the value of the whole list has none.
  fileprivate func lines(besides whole: Listing, below name: String) -> [String] {
    let foreign = (token == nil ? [] : Self.keysOfMarks + (param == nil ? ["value"] : [])) + (asks ? [] : ["key"])
    var inherited = self
    inherited.listing = whole
    let keys = Self.keys.filter { key in
      !foreign.contains(key.name) && !(Self.inheritedKeys.contains(key.name) && key.write(self) == key.write(inherited))
    }
    let pages = listing.pages
    return ["", "[\(name)]"] + keys.lines(of: self)
      + (pages == whole.pages ? [] : ["", "[\(name).pages]"] + pages.usedKeys.lines(of: pages))
  }
}

extension Resource.Pages {
  fileprivate var usedKeys: [DefinitionKey<Resource.Pages>] { Self.keys.filter { style.kind.uses($0.name) } }
  fileprivate var definitionItems: TOMLMembers { usedKeys.items(of: self) }
}

extension Resource.List {
  fileprivate var items: TOMLMembers {
    var members = Self.keys.items(of: self)
    members.list.append(.init(name: "columns", item: .table(columnItems(isShort: false))))
    return members
  }

  fileprivate func columnItems(isShort: Bool) -> TOMLMembers {
    TOMLMembers(columns.map { .init(name: $0.name, item: $0.item(isKey: false, isShort: isShort)) })
  }
}

extension Resource.Column {
  /// A key that is an integer has no `null`, because a key is never NULL.
  /// - Parameter isShort: True if a text column that is '' if absent is written as its place only.
  fileprivate func item(isKey: Bool, isShort: Bool) -> TOMLItem {
    if isShort, type.isText, !isNullable { return .string(at.description) }
    var column = self
    column.isNullable = isNullable || !type.isText
    var members = Self.keys.items(of: column)
    if isKey, !type.isText, !isNullable { members.list.removeLast() }
    return .table(members)
  }
}

extension Array {
  fileprivate func items<Table>(of table: Table) -> TOMLMembers where Element == DefinitionKey<Table> {
    TOMLMembers(compactMap { key in key.write(table).map { .init(name: key.name, item: $0) } })
  }

  fileprivate func lines<Table>(of table: Table) -> [String] where Element == DefinitionKey<Table> {
    items(of: table).list.map { "\($0.name) = \($0.item.toml)" }
  }
}

// MARK: Secrets

extension Resource {
  /// The definition with `***` for values of credentials in its requests.
  /// - Parameter secrets: the parameters that carry secrets.
  package func secretsMasked(besides secrets: Set<String> = []) -> Resource {
    var masked = self
    masked.listing.maskSecrets(besides: secrets)
    masked.since?.listing.maskSecrets(besides: secrets)
    // Placeholders are kept: they are not secrets, and the path would be refused without them.
    if let question = keyQuestion {
      let path = question.path
      let parts = path.keyParts.map { "{key.\($0)}" } + ParentColumn.all(in: path).map(\.placeholder)
      masked.keyQuestion?.path = path.secretsMasked(besides: secrets, keeping: ["{key}", "{keys}"] + parts)
      masked.keyQuestion?.body = question.body.secretsMasked { $0.text?.contains("{") == true }
    }
    return masked
  }

  /// The definition with `***` for values of credentials in `inline`. Keys are no secrets, and masked ones would be
  /// equal.
  fileprivate var inlineMasked: Resource {
    var masked = self
    masked.inline = inline?.map { record in
      let keys = keyPlaces.compactMap { record[$0] }
      return record.secretsMasked { keys.contains($0) }
    }
    return masked
  }
}

extension Listing {
  fileprivate mutating func maskSecrets(besides secrets: Set<String>) {
    query = query.map { parameter in
      let isSecret = secrets.contains(parameter.name) || parameter.name.namesSecret
      return isSecret
        ? Resource.Parameter(parameter.name, .text((parameter.value.json.text ?? "").maskedText)) : parameter
    }
    body = body.secretsMasked
    for index in headers.indices where headers[index].namesSecret {
      headers[index].value = headers[index].value.maskedText
    }
  }
}
