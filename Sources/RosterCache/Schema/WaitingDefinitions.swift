internal import RosterCore

/// Definitions that differ from those of the stored tables. The stored tables stay unchanged until a sync
/// publishes: readers see the earlier definitions until then. Meanwhile a pull is compared with views that show the
/// stored records in the columns of the new definition.
struct WaitingDefinitions {
  /// A resource whose stored tables are those of another definition.
  struct Waiting {
    let old: ResourceTables
    let new: Resource
    /// True if a record has the same key by both definitions. Otherwise none of the stored records stays.
    let keepsRecords: Bool
  }

  private let all: [Waiting]

  init() { all = [] }

  /// Finds resources with another definition, and children whose parents do not stay.
  init(_ resources: [Resource], in database: Database) throws {
    let stored = try database.definitions().compactMap { name, definition -> Waiting? in
      guard let new = resources.first(where: { $0.name == name }) else { return nil }
      let old = try ResourceTables(name: name, definition: definition)
      return Waiting(old: old, new: new, keepsRecords: old.hasKeys(of: try ResourceTables(new)))
    }
    func losesParents(_ resource: Resource) -> Bool {
      guard let parent = stored.first(where: { $0.new.name == resource.each?.parent }) else { return false }
      return !parent.keepsRecords || losesParents(parent.new)
    }
    all = stored.compactMap { pair in
      let losesParents = losesParents(pair.new)
      if !losesParents, pair.new.isLike(pair.old.resource.definition) { return nil }
      return Waiting(old: pair.old, new: pair.new, keepsRecords: pair.keepsRecords && !losesParents)
    }
  }

  var names: [String] { all.map(\.new.name) }
  var isEmpty: Bool { all.isEmpty }
  /// True if the records of a resource do not stay: readers of `changes` must read everything again.
  var endsFeed: Bool { all.contains { !$0.keepsRecords } }

  // MARK: Until the publication

  /// The tables of the resources for a pull.
  func tables(of resources: [Resource]) throws -> [ResourceTables] {
    try resources.map { resource in
      let stored = all.first { $0.new.name == resource.name }
      return try ResourceTables(
        resource, stored: stored?.old, keepsRecords: stored?.keepsRecords ?? true, isWaiting: stored != nil)
    }
  }

  /// Makes the views that these tables read.
  func createViews(in database: Database) throws {
    for waiting in all {
      let new = try ResourceTables(waiting.new, stored: waiting.old, isWaiting: true)
      for conversion in Self.conversions(waiting.keepsRecords ? waiting.old : nil, to: new) {
        try database.execute(conversion.view)
      }
    }
  }

  func dropViews(in database: Database) throws {
    for waiting in all {
      for name in [waiting.new.table] + waiting.new.lists.map(\.table) {
        try database.execute("DROP VIEW IF EXISTS \(ResourceTables.view(name))")
      }
    }
  }

  /// Keeps the highest record ids, so that a pull reserves other ones for new records.
  func noteRecordIDs(in database: Database) throws {
    for waiting in all { try RecordIDs.note(waiting.old, in: database) }
  }

  // MARK: The publication

  /// Makes the tables of the new definitions, and fills them with the records that stay. Returns the tables for the
  /// publication. Call it within its transaction, when no table of another resource has one of the new names.
  /// - Parameters:
  ///   - aside: The result of `setAside`.
  func publish(
    _ aside: [ResourceTables], resources: [Resource], schema: Schema, in database: Database
  ) throws -> [ResourceTables] {
    let kept = zip(all, aside).filter { $0.0.keepsRecords }.map(\.1)
    let tables = try resources.map { resource in
      try ResourceTables(resource, stored: kept.first { $0.resource.name == resource.name })
    }
    for (index, waiting) in all.enumerated() {
      guard let new = tables.first(where: { $0.resource.name == waiting.new.name }) else { continue }
      if waiting.keepsRecords {
        try Self.move(aside[index], to: new, in: database)
      } else {
        try schema.add(new, to: database)
      }
    }
    return tables
  }

  /// Gives the old tables names that no definition has, or drops them if no record stays.
  func setAside(_ schema: Schema, in database: Database) throws -> [ResourceTables] {
    if all.isEmpty { return [] }
    try database.execute("DROP VIEW IF EXISTS main.removed")
    return try all.enumerated().map { index, waiting in
      let aside = try Self.named(waiting.old, index: index)
      guard waiting.keepsRecords else {
        try schema.drop(waiting.new.name, in: database)
        return aside
      }
      for statement in waiting.old.dropIndex { try database.execute(statement) }
      let names = zip(
        [waiting.old.resource.table] + waiting.old.resource.lists.map(\.table),
        [aside.resource.table] + aside.resource.lists.map(\.table))
      for (from, to) in names { try database.execute("ALTER TABLE main.\(quoted(from)) RENAME TO \(quoted(to))") }
      return aside
    }
  }

  /// Drops the old tables, whose documents `changes` has now.
  func drop(_ aside: [ResourceTables], in database: Database) throws {
    for (waiting, tables) in zip(all, aside) where waiting.keepsRecords {
      for statement in tables.drop { try database.execute(statement) }
    }
  }

  private static func named(_ tables: ResourceTables, index: Int) throws -> ResourceTables {
    var resource = tables.resource
    resource.search = []
    resource.table = "\(ReservedNames.setAside)\(index)"
    for list in resource.lists.indices { resource.lists[list].table = "\(resource.table)_\(list)" }
    return try ResourceTables(resource, listNames: tables.resource.lists.map(tables.listName))
  }

  private static func move(_ old: ResourceTables, to new: ResourceTables, in database: Database) throws {
    try RecordIDs.note(old, in: database)
    for statement in new.create { try database.execute(statement) }
    try RecordIDs.goOn(new, in: database)
    for conversion in conversions(old, to: new) { try database.execute(conversion.insert) }
    try database.run(
      """
      UPDATE main.resources SET "table" = ?2, key = ?3, definition = ?4, validators = 'trusted', distrusted_since = NULL
      WHERE name = ?1
      """, .text(new.resource.name), .text(new.resource.table), .text(new.keyName), .text(new.resource.definition))
    // A list that this sync did not pull is requested whole by the next one.
    let lists =
      "SELECT l.id FROM main.cache_resources c JOIN main.cache_lists l ON l.resource_id = c.id WHERE c.name = ?1"
    try database.run(
      "UPDATE main.cache_pages SET (etag, last_modified, digest) = (NULL, NULL, 0) WHERE list_id IN (\(lists))",
      .text(new.resource.name))
    try database.run(
      """
      UPDATE main.cache_lists SET (question, mark, token, asked) = (0, NULL, NULL, NULL),
        due_at = CASE WHEN parent_id <> 0 THEN min(coalesce(due_at, 0), 0) END WHERE id IN (\(lists))
      """, .text(new.resource.name))
  }

  // MARK: Stored records by another definition

  /// A table of the new definition with the values of its columns, as SQL about a stored row.
  private struct Conversion {
    let name: String
    /// The table of the stored rows; nil if no stored row stays.
    let from: String?
    let columns: [(name: String, value: String)]

    var select: String {
      let values = columns.map { "\(from == nil ? "NULL" : $0.value) AS \($0.name)" }.joined(separator: ", ")
      return "SELECT \(values) \(from.map { "FROM main.\(quoted($0))" } ?? "WHERE false")"
    }

    var view: String {
      """
      DROP VIEW IF EXISTS \(ResourceTables.view(name));
      CREATE TEMP VIEW \(ResourceTables.viewName(name)) AS \(select)
      """
    }

    var insert: String {
      "INSERT INTO main.\(quoted(name))(\(columns.map(\.name).joined(separator: ", "))) \(select)"
    }
  }

  /// - Parameter old: The tables of an earlier definition; nil if none of their records stays.
  private static func conversions(_ old: ResourceTables?, to new: ResourceTables) -> [Conversion] {
    let same = (new.hasOwnIDs ? [new.id] : []) + (new.parentColumn.map { [$0] } ?? [])
    let own = (same + ["extra", "first_sync", "changed_sync"]).map { (name: $0, value: $0) }
    let columns = values(new.resource.columns, from: old?.resource.columns ?? [])
    let records = Conversion(name: new.resource.table, from: old?.resource.table, columns: own + columns)
    return [records] + new.resource.lists.map { conversion(of: $0, in: new, from: old) }
  }

  private static func conversion(
    of list: Resource.List, in new: ResourceTables, from old: ResourceTables?
  ) -> Conversion {
    let before = old?.resource.lists.first { $0.at == list.at }
    let places = [new.owner, "position"].map { (name: $0, value: $0) }
    let columns = values(list.columns, from: before?.columns ?? [])
    let extra = list.hasExtra ? [(name: "extra", value: before?.hasExtra == true ? "extra" : "NULL")] : []
    return Conversion(name: list.table, from: before?.table, columns: places + columns + extra)
  }

  /// The value of each column by the column with the same place and type.
  private static func values(
    _ columns: [Resource.Column], from old: [Resource.Column]
  ) -> [(name: String, value: String)] {
    columns.map { column in
      let empty = column.type.isText && !column.isNullable ? "''" : "NULL"
      let value = old.first { $0.at == column.at && $0.type == column.type }.map { before in
        let value = quoted(before.name)
        return before.isNullable && !column.isNullable ? "coalesce(\(value), \(empty))" : value
      }
      return (quoted(column.name), value ?? empty)
    }
  }
}

extension ResourceTables {
  /// True if a record has the same key by both definitions, in columns of the same names, and the same parent.
  fileprivate func hasKeys(of other: ResourceTables) -> Bool {
    func keys(_ tables: ResourceTables) -> [Resource.Column] { tables.keyParts.map { tables.resource.columns[$0] } }
    return keys(self) == keys(other) && hasOwnIDs == other.hasOwnIDs && parent == other.parent
      && resource.isDetail == other.resource.isDetail
  }
}
