internal import RosterCore
internal import RosterDecode

/// Finds the records of a parent resource that this pull adds or changes.
struct ParentStaging {
  private let data: PullData
  private let tables: ResourceTables
  private let plan: RecordPlan
  private let needed: [Int]
  private let stored: StoredRecords?
  /// Which window will own a record; nil unless the parent is made of windows.
  private let owners: WindowOwners?
  private let insert: Statement
  private let removal: Statement
  private var nextID: Int64

  init(_ data: PullData, resource index: Int) throws {
    self.data = data
    (tables, plan) = (data.tables[index], data.plans[index])
    let (database, family) = (data.database, data.family)
    needed = family.neededColumns(index)
    let name = plan.resource.name
    stored = try database.hasSnapshot(of: name) ? StoredRecords(database, tables) : nil
    owners = try WindowOwners(of: index, in: data)
    let first = 6
    let places = Dictionary(uniqueKeysWithValues: needed.enumerated().map { ($1, first + $0) })
    let columns = plan.resource.columns
    let own = family.facts(index) { name in
      columns.firstIndex { $0.name == name }.flatMap { places[$0] }.map { "?\($0)" } ?? "NULL"
    }
    let key = plan.resource.hasCompositeKey ? "json(?4)" : "?4"
    let list = "(SELECT l.path FROM temp.lists l WHERE l.list = ?3)"
    let path =
      tables.parent == nil
      ? "json_array(\(key))" : plan.resource.isDetail ? list : "json_insert(\(list), '$[#]', \(key))"
    let facts =
      tables.parent == nil ? own : "json_patch((SELECT l.facts FROM temp.lists l WHERE l.list = ?3), \(own))"
    insert = try database.statement(
      "INSERT OR REPLACE INTO temp.parents SELECT ?1, ?2, ?3, ?4, \(path), \(facts) WHERE ?5")
    removal = try database.statement("INSERT OR IGNORE INTO temp.removed_parents VALUES (\(index), ?1)")
    nextID =
      try database.first(
        """
        SELECT max(coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = ?1), 0),
          coalesce((SELECT min(highest, ?3) FROM main.cache_record_ids WHERE resource = ?2), 0))
        """, .text((tables.stored ?? tables).resource.table), .text(name), .integer(.max / 2)
      ) { $0.integer(0) } ?? 0
  }

  mutating func stage(_ scope: ListScope, found: ResourceComparison) throws {
    for part in found.isAsked ? [PulledRecords.Part.answers] : [.pages, .answers] {
      guard var pulled = try PulledRecords(part, of: scope, found, in: data) else { continue }
      while try pulled.nextPage() != nil {
        while let step = try pulled.next() {
          guard case .record = step else { continue }
          if try isOwnedByLater(pulled.decoder.key, scope) { continue }
          switch try stored?.standing(of: &pulled.decoder, below: scope.parent) ?? .new {
          case .same: break
          case .changed(let difference):
            if difference.columns.contains(where: needed.contains) {
              try add(difference.id, scope: scope, decoder: &pulled.decoder)
            }
          case .new:
            if try owners?.claims(pulled.decoder.key) == false { continue }
            try add(newID(scope, key: pulled.decoder.key), scope: scope, decoder: &pulled.decoder)
          }
        }
      }
    }
  }

  /// If an earlier window has the record, it leaves that window, and its children go with it.
  private func isOwnedByLater(_ key: RecordKey, _ scope: ListScope) throws -> Bool {
    switch try owners?.owner(besides: scope.parent, key: key) {
    case nil: return false
    case .later: return true
    case .earlier(let id, _):
      try remove(id)
      return false
    }
  }

  /// Notes that the publication removes the record.
  func remove(_ id: Int64) throws {
    owners?.note(gone: id)
    try removal.run([.integer(id)])
  }

  private mutating func newID(_ scope: ListScope, key: RecordKey) -> Int64 {
    if tables.hasOwnIDs {
      nextID += 1
      return nextID
    }
    if case .integer(let number) = key, !plan.isDetail { return number }
    return scope.parent
  }

  private func add(_ id: Int64, scope: ListScope, decoder: inout RecordDecoder) throws {
    insert.bind(1, Int64(scope.index))
    insert.bind(2, id)
    insert.bind(3, scope.number)
    insert.bind(4, decoder.key)
    insert.bind(5, Int64(1))
    for (offset, column) in needed.enumerated() { insert.bind(Int32(6 + offset), decoder.column(column)) }
    try insert.run()
  }
}

extension PullData {
  /// Notes the records of a resource that this pull adds or removes. A changed record is noted if lists of its children
  /// depend on the changed columns.
  func stageParents(_ index: Int, decision: RemovalDecision) throws {
    for table in ["temp.parents", "temp.removed_parents"] {
      try database.run("DELETE FROM \(table) WHERE resource = ?1", Value(index))
    }
    var staging = try ParentStaging(self, resource: index)
    try forEachListToPublish(of: index) { scope, found in
      tick()
      try staging.stage(scope, found: found)
      if scope.list != nil, let query = decision.removalQuery(for: plans[index], comparison: found) {
        for id in try database.rows(query, in: scope, read: { $0.integer(0) }) { try staging.remove(id) }
      }
    }
    try stageRemovedBelow(index)
  }

  /// Records whose own parent is removed go with it.
  private func stageRemovedBelow(_ index: Int) throws {
    guard let parent = family.parent(of: index), let column = tables[index].parentColumn,
      try database.hasTable(of: plans[index].resource.name)
    else { return }
    try database.run(
      """
      INSERT OR IGNORE INTO temp.removed_parents SELECT ?1, t.\(tables[index].id) FROM temp.removed_parents r
      CROSS JOIN \(tables[index].from) t ON t.\(column) = r.record_id WHERE r.resource = ?2
      """, Value(index), Value(parent))
  }
}
