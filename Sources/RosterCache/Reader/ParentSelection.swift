internal import RosterCore

/// Finds records of children by the keys of their ancestors.
extension CacheReader {
  /// The record id of the parent of a child.
  /// - Parameter keys: keys of the ancestors, the outermost one first.
  /// - Throws: `Failure`: 64 for a resource without a parent or another number of keys, 1 for an unknown parent.
  func parentID(of tables: ResourceTables, keys: [String]) throws -> Int64 {
    try ancestorKeys(of: tables, keys: keys).reduce(0) { id, step in
      let found = try database.first(
        "SELECT t.\(step.ancestor.id) FROM main.\(step.ancestor.table) t WHERE \(step.ancestor.hasKey("t", "?1", parent: "?2"))",
        step.ancestor.value(ofKey: step.key), .integer(id)
      ) { $0.integer(0) }
      guard let found else { throw Self.unknown(step.ancestor, key: step.key) }
      return found
    }
  }

  /// Current and earlier record ids of the parent of a child. Throws the errors of `parentID(of:keys:)`.
  private func allParentIDs(of tables: ResourceTables, keys: [String]) throws -> [Int64] {
    try ancestorKeys(of: tables, keys: keys).reduce([0]) { ids, step in
      let found = try ids.flatMap { try allIDs(of: step.ancestor, key: step.key, below: $0) }
      if found.isEmpty { throw Self.unknown(step.ancestor, key: step.key) }
      return found
    }
  }

  /// Current and earlier record ids of a key below that parent, which is 0 for a resource with one list. A key that is
  /// the record id is looked up in the index of `changes`.
  private func allIDs(of tables: ResourceTables, key: String, below parent: Int64) throws -> [Int64] {
    let isID = tables.hasOwnIDs ? "" : "AND record_id = ?1"
    return try database.rows(
      """
      SELECT t.\(tables.id) FROM main.\(tables.table) t WHERE \(tables.hasKey("t", "?1", parent: "?2"))
      UNION SELECT record_id FROM main.changes WHERE resource = ?3 \(isID) AND kind = 'removed'
        AND CASE WHEN json_valid(before)
          THEN \(tables.key(inDocument: "before")) = ?1 AND \(tables.parent(inDocument: "before")) = ?2 END
      """, tables.value(ofKey: key), .integer(parent), .text(tables.resource.name)
    ) { $0.integer(0) }
  }

  /// The ancestors that have keys, each with its own, the outermost one first.
  private func ancestorKeys(
    of tables: ResourceTables, keys: [String]
  ) throws -> [(ancestor: ResourceTables, key: String)] {
    guard let parent = tables.parent else {
      throw Failure(
        .usage, step: "select by --of", subject: tables.resource.name, cause: "it has one list, and no parent")
    }
    let ancestors = try ancestors(of: parent)
    let needed = ancestors.reduce(0) { $0 + ($1.resource.isDetail ? 0 : $1.keyParts.count) }
    guard keys.count == needed else {
      let names = ancestors.map(\.resource.name).joined(separator: ", ")
      throw Failure(
        .usage, step: "select by --of", subject: keys.joined(separator: " "),
        cause: "it has \(keys.count.counted(as: "value")), and the keys of \(names) have \(needed)")
    }
    var rest = keys[...]
    return try ancestors.filter { !$0.resource.isDetail }.map { ancestor in
      defer { rest = rest.dropFirst(ancestor.keyParts.count) }
      return (ancestor, try ancestor.key(Array(rest.prefix(ancestor.keyParts.count))))
    }
  }

  private static func unknown(_ ancestor: ResourceTables, key: String) -> Failure {
    Failure(
      .cancelled, step: "select by --of", subject: key, cause: "there is no \(ancestor.resource.name) with that key")
  }

  /// The resource and its ancestors, the outermost one first.
  private func ancestors(of resource: String) throws -> [ResourceTables] {
    let tables = try tables(resource)
    return try (tables.parent.map { try ancestors(of: $0) } ?? []) + [tables]
  }

  /// Current and earlier record ids of a child's key. Throws `Failure` (64) if several parents have a child with it and
  /// none is named.
  func ids(ofChild tables: ResourceTables, key: [String], of parents: [String]) throws -> [Int64] {
    guard let column = tables.parentColumn else { return [] }
    if tables.resource.isDetail { return try allParentIDs(of: tables, keys: parents + key) }
    let wanted = parents.isEmpty ? nil : Set(try allParentIDs(of: tables, keys: parents))
    let text = try tables.key(key)
    let found = try database.rows(
      """
      SELECT t.\(tables.id), t.\(column), 1 FROM main.\(tables.table) t WHERE \(tables.key(of: "t")) = ?1
      UNION SELECT record_id, \(tables.parent(inDocument: "before")), 0 FROM main.changes
      WHERE resource = ?2 AND kind = 'removed'
        AND CASE WHEN json_valid(before) THEN \(tables.key(inDocument: "before")) END = ?1
      """, tables.value(ofKey: text), .text(tables.resource.name)
    ) { (id: $0.integer(0), parent: $0.integer(1), isCurrent: $0.int(2) != 0) }
    if let wanted { return Set(found.filter { wanted.contains($0.parent) }.map(\.id)).sorted() }
    let current = found.filter(\.isCurrent)
    let owners = Set((current.isEmpty ? found : current).map(\.parent)).sorted()
    if owners.count > 1 { throw try ambiguity(of: key, in: tables, owners: owners) }
    return Set(found.filter { owners.contains($0.parent) }.map(\.id)).sorted()
  }

  private func ambiguity(of key: [String], in tables: ResourceTables, owners: [Int64]) throws -> Failure {
    let above = try tables.parent.map { try ancestors(of: $0) } ?? []
    let named = try owners.prefix(10).map { try keys(of: $0, above[...])?.joined(separator: " ") ?? "(removed)" }
    let rest = owners.count - named.count
    let all = named.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    return Failure(
      .usage, step: CacheReader.step, subject: key.joined(separator: " "),
      cause: "the records \(all) of \(tables.parent ?? "") have a \(tables.resource.name) with that key",
      hint: "name one by --of KEY")
  }

  /// The keys of a record and its ancestors, as `--of` takes them; nil for a removed record.
  /// - Parameter path: the tables of the ancestors and of the record, the outermost one first.
  private func keys(of id: Int64, _ path: ArraySlice<ResourceTables>) throws -> [String]? {
    guard let tables = path.last else { return [] }
    let own = tables.resource.isDetail ? [] : tables.keyNames.map { "t.\(quoted($0))" }
    let columns = [tables.parentColumn.map { "t.\($0)" } ?? "0"] + own
    let found = try database.first(
      "SELECT \(columns.joined(separator: ", ")) FROM main.\(tables.table) t WHERE t.\(tables.id) = ?1", .integer(id)
    ) { row in (parent: row.integer(0), own: own.indices.map { row.text(Int32($0 + 1)) }) }
    guard let found, let above = try keys(of: found.parent, path.dropLast()) else { return nil }
    return above + found.own
  }

  // MARK: Names of parents for people

  /// The parents of changed children, such as `item 2`, by the ids of the changes.
  /// - Parameter changes: in the order of their ids.
  func parents(of changes: [RecordChange]) throws -> [Int64: String] {
    guard let first = changes.first?.id, let last = changes.last?.id else { return [:] }
    return try read {
      var parents: [Int64: String] = [:]
      for resource in Set(changes.map(\.resource)) {
        // A resource that is not pulled any more has no tables.
        guard let tables = try? tables(resource), tables.parent != nil else { continue }
        let document = "coalesce(after, before)"
        let children = try database.rows(
          """
          SELECT id, \(tables.parent(inDocument: document)) FROM main.changes
          WHERE id BETWEEN ?1 AND ?2 AND resource = ?3 AND json_valid(\(document))
          """, .integer(first), .integer(last), .text(resource)
        ) { (change: $0.integer(0), parent: $0.integer(1)) }
        let names = try parentNames(of: tables, ids: Set(children.map(\.parent)))
        for child in children { parents[child.change] = names[child.parent] }
      }
      return parents
    }
  }

  /// The parents of a child with these record ids, such as `item 2`, with the keys of all ancestors.
  func parentNames(of tables: ResourceTables, ids: Set<Int64>) throws -> [Int64: String] {
    guard let parent = tables.parent else { return [:] }
    let path = try ancestors(of: parent)
    return try ids.reduce(into: [:]) { names, id in
      names[id] = try lastKeys(of: id, path[...]).map { ([parent] + $0).joined(separator: " ") }
    }
  }

  /// As `keys`, but those of a removed record are from the last document that `changes` has of it.
  private func lastKeys(of id: Int64, _ path: ArraySlice<ResourceTables>) throws -> [String]? {
    if let keys = try keys(of: id, path) { return keys }
    guard let tables = path.last else { return [] }
    let own =
      tables.resource.isDetail ? [] : tables.keyNames.map { "json_extract(before, \(literal("$.\(quoted($0))")))" }
    let found = try database.first(
      """
      SELECT \(([tables.parent(inDocument: "before")] + own).joined(separator: ", ")) FROM main.changes
      WHERE resource = ?1 AND record_id = ?2 AND kind = 'removed' AND json_valid(before) ORDER BY id DESC LIMIT 1
      """, .text(tables.resource.name), .integer(id)
    ) { row in (parent: row.integer(0), own: own.indices.map { row.text(Int32($0 + 1)) }) }
    guard let found, let above = try lastKeys(of: found.parent, path.dropLast()) else { return nil }
    return above + found.own
  }
}

extension ResourceTables {
  /// A key as its column stores it.
  fileprivate func value(ofKey key: String) -> Value {
    if hasTextKey { return .text(key) }
    return Int64(key).map(Value.integer) ?? .null
  }
}
