internal import RosterDecode
internal import RosterModel

/// Goes from the records of a parent to the lists of its children. The writer of a pull and readers of it use it.
struct ListDescent {
  let database: Database
  let file: PageSpool
  let tables: [ResourceTables]
  let plans: [RecordPlan]
  let interruption: Interruption

  var family: Family { Family(tables: tables) }

  /// Notes the records of a resource that this pull adds or removes. A changed record is noted if lists of its children
  /// depend on the changed columns.
  /// - Parameter only: The only list of the resource, with its comparison; nil for a child.
  func stageParents(
    _ index: Int, only: (ListScope, ResourceComparison)?, decision: RemovalDecision, tick: () -> Void = {}
  ) throws {
    for table in ["temp.parents", "temp.removed_parents"] {
      try database.run("DELETE FROM \(table) WHERE resource = ?1", Value(index))
    }
    var staging = try ParentStaging(self, resource: index)
    try forEachList(of: index, only) { scope, found in
      tick()
      try staging.stage(scope, found: found)
      if scope.list != nil, let query = decision.removalQuery(for: plans[index], comparison: found) {
        try database.run("INSERT OR IGNORE INTO temp.removed_parents SELECT ?1, record_id FROM (\(query))", in: scope)
      }
    }
    try stageRemovedBelow(index)
  }

  /// Records whose own parent is removed go with it (E5.1).
  private func stageRemovedBelow(_ index: Int) throws {
    guard let parent = family.parent(of: index), let column = tables[index].parentColumn,
      try database.hasTable(of: plans[index].resource.name)
    else { return }
    try database.run(
      """
      INSERT OR IGNORE INTO temp.removed_parents SELECT ?1, t.\(tables[index].id) FROM temp.removed_parents r
      CROSS JOIN main.\(tables[index].table) t ON t.\(column) = r.record_id WHERE r.resource = ?2
      """, Value(index), Value(parent))
  }

  /// True if the cache has the tables of the resource and of all its ancestors. An ancestor that was added to the
  /// configuration has none before its first publication, and then no record below it is stored.
  func arePublished(upFrom index: Int) throws -> Bool {
    guard try database.hasTable(of: plans[index].resource.name) else { return false }
    return try family.parent(of: index).map { try arePublished(upFrom: $0) } ?? true
  }

  /// Goes over the lists of a resource that this pull has read completely, with their comparisons. Memory does not grow
  /// with the number of all lists.
  /// - Parameters:
  ///   - only: The only list of the resource; nil for a child.
  ///   - goesOn: False to end early.
  func forEachList(
    of index: Int, _ only: (ListScope, ResourceComparison)?, while goesOn: () -> Bool = { true },
    body: (ListScope, ResourceComparison) throws -> Void
  ) throws {
    guard plans[index].resource.each != nil else {
      if let only { try body(only.0, only.1) }
      return
    }
    var last: Int64 = -1
    while goesOn(), case let lists = try completeLists(at: index, after: last), let end = lists.last {
      for (scope, found) in lists where goesOn() { try body(scope, found) }
      last = end.0.number
    }
  }

  /// - Parameter last: The list before them; less than 0 to begin.
  private func completeLists(at index: Int, after last: Int64) throws -> [(ListScope, ResourceComparison)] {
    let name = plans[index].resource.name
    return try database.rows(
      """
      SELECT list, parent, start IS NOT NULL, found FROM temp.lists
      WHERE \(ParentTables.State.isNextComplete) ORDER BY list LIMIT \(Self.portion)
      """, Value(index), .integer(last)
    ) { (number: $0.integer(0), parent: $0.integer(1), isIncremental: $0.int(2) != 0, found: $0.bytes(3)) }.map {
      list in
      let scope = ListScope(
        index: index, number: list.number, parent: list.parent,
        list: try ListID(name, parent: list.parent, in: database), isIncremental: list.isIncremental)
      return (scope, ResourceComparison(resource: name, list.found))
    }
  }

  /// Number of lists that are read at a time.
  static let portion = 256

  /// Notes the comparison of a list of a child.
  func note(_ found: ResourceComparison, of scope: ListScope) throws {
    let note = try database.statement("UPDATE temp.lists SET found = ?2 WHERE list = ?1")
    note.bind(1, scope.number)
    note.bind(2, blob: found.bytes)
    try note.run()
  }
}
