internal import RosterDecode
internal import RosterModel

/// Rebuilds the tables of resources whose definition has changed (section 5), from the stored records. `StoredDocument`
/// makes a record's document again.
struct Redefinition {
  /// Names of the resources whose definition has changed.
  var names: [String] { changed.map(\.new.resource.name) }

  private let database: Database
  private let schema: Schema
  private let tick: () -> Void
  /// Resources with another definition, and children whose parents get other record ids.
  private let changed: [Pair]

  /// nil if no definition has changed.
  /// - Parameter tick: called repeatedly while it runs.
  init?(_ schema: Schema, in database: Database, tick: @escaping () -> Void) throws {
    self.database = database
    self.tick = tick
    self.schema = schema
    let pairs = try database.definitions().compactMap { name, definition -> Pair? in
      guard let new = schema.tables.first(where: { $0.resource.name == name }) else { return nil }
      return Pair(
        old: try ResourceTables(name: name, definition: definition), new: new,
        isChanged: !new.resource.hasFeed(of: definition))
    }
    changed = pairs.filter { pair in pair.isChanged || Self.losesParents(pair.new, among: pairs) }
    if changed.isEmpty { return nil }
  }

  private struct Pair {
    var old: ResourceTables
    var new: ResourceTables
    /// False if only an ancestor may have changed.
    var isChanged: Bool
  }

  /// Call it within a transaction. Starts a new feed, whose first snapshot is the current one: `changes` then reports
  /// what the next sync changes.
  func run() throws {
    try database.execute("DROP VIEW IF EXISTS main.removed")
    try makeRoom()
    // All old tables are renamed before the first new one is made, because a new name may be another's old one.
    let aside = try changed.enumerated().map { index, pair in
      pair.old.isLike(pair.new) && !Self.losesParents(pair.new, among: changed)
        ? pair.old : try setAside(pair.old, index: index)
    }
    for (old, new) in zip(aside, changed.map(\.new)) {
      if old.resource.table == new.resource.table { try redefineIndex(old, new: new) } else { try move(old, to: new) }
      if new.parent != nil {
        try forgetLists(of: new)
      } else {
        if old.parent != nil { try replaceLists(of: new) }
        try forgetPages(of: new, old: old)
      }
    }
    try Schema(of: database).defineRemoved(database)
    try database.renewFeed()
  }

  /// A resource that is missing from the configuration is kept until a sync has published its removal. It is dropped
  /// now if a new table needs one of its tables' names, or if its parents are dropped or get other record ids.
  private func makeRoom() throws {
    let taken = Set(changed.flatMap(\.new.names).map { $0.lowercased() })
    let stored = try Schema(of: database).tables
    func isDropped(_ old: ResourceTables) -> Bool {
      if schema.tables.contains(where: { $0.resource.name == old.resource.name }) { return false }
      return old.names.contains { taken.contains($0.lowercased()) } || Self.losesParents(old, among: changed)
        || stored.contains { $0.resource.name == old.parent && isDropped($0) }
    }
    for old in stored where isDropped(old) { try schema.drop(old.resource.name, in: database) }
  }

  /// Renames the tables to names that no definition has.
  private func setAside(_ tables: ResourceTables, index: Int) throws -> ResourceTables {
    for statement in tables.dropIndex { try database.execute(statement) }
    var resource = tables.resource
    resource.search = []
    resource.table = "\(ReservedNames.setAside)\(index)"
    for list in resource.lists.indices { resource.lists[list].table = "\(resource.table)_\(list)" }
    let names = zip(
      [tables.resource.table] + tables.resource.lists.map(\.table), [resource.table] + resource.lists.map(\.table))
    for (from, to) in names { try database.execute("ALTER TABLE main.\(quoted(from)) RENAME TO \(quoted(to))") }
    return try ResourceTables(resource)
  }

  /// Only the index of words is made again; the tables are unchanged.
  private func redefineIndex(_ old: ResourceTables, new: ResourceTables) throws {
    guard old.resource.search != new.resource.search else { return }
    for statement in old.dropIndex + new.createIndex { try database.execute(statement) }
    if let rebuild = new.rebuildIndex { try database.execute(rebuild) }
  }

  private func move(_ old: ResourceTables, to new: ResourceTables) throws {
    try RecordIDs.note(old, in: database)
    for statement in new.create { try database.execute(statement) }
    try RecordIDs.goOn(new, in: database)
    if old.parent == new.parent, !Self.losesParents(new, among: changed) {
      try moveRecords(old, to: new)
    } else {
      // A record of another parent, or of one with other record ids, would belong to no list, and so would a reject.
      try database.run("DELETE FROM main.rejects WHERE resource = ?", .text(new.resource.name))
    }
    for statement in old.drop { try database.execute(statement) }
  }

  /// True if records of the parent get other record ids.
  private static func losesParents(_ child: ResourceTables, among pairs: [Pair]) -> Bool {
    guard let parent = child.parent else { return false }
    return pairs.contains { pair in
      pair.new.resource.name == parent && (!pair.old.keepsIDs(in: pair.new) || losesParents(pair.new, among: pairs))
    }
  }

  private func moveRecords(_ old: ResourceTables, to new: ResourceTables) throws {
    var resource = new.resource
    // Records that the new conditions skip are removed by the next sync, which reports the removal.
    resource.conditions = []
    // A stored record is already the object that was read.
    resource.shape = .objects
    let document = try StoredDocument(database, from: old, to: resource)
    let writer = try RecordWriter(database, new, sync: 0, at: "", isFirst: true)
    var decoder = RecordDecoder(try RecordPlan(resource))
    let all = try database.once(old.selectAll)
    let syncs = Int32(old.resource.columns.count + 2)
    let keepsIDs = old.keepsIDs(in: new)
    func restore(_ document: [UInt8], row: Row) throws -> Bool {
      try document.withUnsafeBufferPointer { bytes in
        try decoder.begin(bytes, at: 0)
        guard case .record? = try decoder.next() else { return false }
        try writer.restore(
          &decoder, id: keepsIDs ? row.integer(0) : nil, parent: row.integer(syncs + 2),
          firstSync: row.integer(syncs), changedSync: row.integer(syncs + 1))
        return true
      }
    }
    var count = 0
    while try all.step() {
      count += 1
      if count.isMultiple(of: Self.recordsATick) { tick() }
      // A record without a key by the new definition keeps its old key until the next sync, if the old key can be one.
      if try restore(document.bytes(all.row), row: all.row) { continue }
      if let keyed = try document.bytes(keyed: all.row) { _ = try restore(keyed, row: all.row) }
    }
    try writer.finish()
  }

  /// These records take some milliseconds. The single statements are too short to tick on their own.
  private static let recordsATick = 256

  /// A child that has no parent any more gets the only list of a resource instead of its lists.
  private func replaceLists(of new: ResourceTables) throws {
    try schema.dropLists(of: new.resource.name, database)
    _ = try ListID(adding: new.resource.name, parent: 0, database)
  }

  /// Forgets the pages, so that the next sync transfers the whole resource: each record counts as listed by no page.
  private func forgetPages(of new: ResourceTables, old: ResourceTables) throws {
    guard let list = try ListID(new.resource.name, in: database) else {
      throw SQLiteError.damaged("cache_lists lacks \(new.resource.name)")
    }
    let ids = "SELECT \(new.id) FROM main.\(new.table)"
    let absent = old.keepsIDs(in: new) ? "AND record_id NOT IN (\(ids))" : ""
    try database.run("DELETE FROM main.cache_pages WHERE list_id = ?", .integer(list.id))
    try database.run("DELETE FROM main.cache_overlaid WHERE list_id = ?", .integer(list.id))
    try database.run("DELETE FROM main.cache_unlisted WHERE list_id = ? \(absent)", .integer(list.id))
    try database.run("INSERT OR IGNORE INTO main.cache_unlisted SELECT ?, *, 0 FROM (\(ids))", .integer(list.id))
    try database.run(
      """
      UPDATE main.cache_lists SET (pages, storable, rejects, unknown, skipped, repeats, question, mark) =
        (0, 0, 0, 0, 0, 0, 0, NULL) WHERE id = ?
      """, .integer(list.id))
    try renewRow(of: new)
  }

  private func renewRow(of new: ResourceTables) throws {
    try database.run(
      """
      UPDATE main.resources SET "table" = ?2, key = ?3, definition = ?4,
        records = (SELECT count(*) FROM (SELECT \(new.id) FROM main.\(new.table))),
        validators = 'trusted', distrusted_since = NULL, parent = ?5
      WHERE name = ?1
      """, .text(new.resource.name), .text(new.resource.table), .text(new.keyName), .text(new.resource.definition),
      Value(new.parent))
  }

  /// Forgets the pages of a child's lists. Each record counts as listed by no page of the list of its parent, and each
  /// list is requested by the next sync.
  private func forgetLists(of new: ResourceTables) throws {
    guard let column = new.parentColumn else { return }
    let name = Value(new.resource.name)
    try schema.dropLists(of: new.resource.name, database)
    try database.run(
      """
      INSERT INTO main.cache_lists(resource_id, parent_id, records, due_at)
      SELECT c.id, t.\(column), count(*), 0 FROM main.cache_resources c, main.\(new.table) t
      WHERE c.name = ?1 GROUP BY t.\(column)
      """, name)
    try database.run(
      """
      INSERT INTO main.cache_unlisted SELECT l.id, t.\(new.id), 0 FROM main.cache_resources c
      JOIN main.cache_lists l ON l.resource_id = c.id JOIN main.\(new.table) t ON t.\(column) = l.parent_id
      WHERE c.name = ?1
      """, name)
    try renewRow(of: new)
  }
}

extension ResourceTables {
  /// True if the tables differ at most in the index of words.
  fileprivate func isLike(_ other: ResourceTables) -> Bool {
    resource.table == other.resource.table && resource.columns == other.resource.columns
      && resource.lists == other.resource.lists && resource.keyPlaces == other.resource.keyPlaces
      && parent == other.parent && resource.isDetail == other.resource.isDetail
  }

  /// True if a record has the same key by both definitions.
  fileprivate func keepsIDs(in other: ResourceTables) -> Bool {
    resource.keyPlaces == other.resource.keyPlaces && hasTextKey == other.hasTextKey && hasOwnIDs == other.hasOwnIDs
      && parent == other.parent
  }
}
