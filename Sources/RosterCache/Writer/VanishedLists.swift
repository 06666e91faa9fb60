internal import RosterModel

/// Parents of lists that were answered with 404 or 410 (E7.3): whether upstream still has them.
struct VanishedLists {
  /// The value of `missing.absent` for a record of an incremental pull whose child list has vanished (E7.4).
  static let doubted = 2

  let family: Family

  /// Records of a resource in the snapshot whose child lists have vanished, or have failed because of 404 or 410: their
  /// ids, as a query. nil if the resource has no children. The condition `<> 'current'` lets SQLite use an index of the
  /// few lists that are not current.
  private func parents(_ index: Int) -> String? {
    let name = family.tables[index].resource.name
    let children = family.tables.filter { $0.parent == name }.map { literal($0.resource.name) }
    guard !children.isEmpty else { return nil }
    return """
      SELECT v.parent_id AS id FROM main.cache_resources n
      CROSS JOIN main.cache_lists v ON v.resource_id = n.id AND v.state IN ('vanished', 'failed') AND v.state <> 'current'
        AND (v.state = 'vanished' OR v.due_at <= \(FixedTables.dueAfterNotFound))
      WHERE n.name IN (\(children.joined(separator: ", ")))
      """
  }

  /// Adds the parents that an incremental pull has not received to its missing records, so that `by_key` is asked for
  /// them. An unchanged page does not show whether upstream still has a record. Returns their number.
  func doubt(in scope: ListScope, _ database: Database) throws -> Int {
    let tables = family.tables[scope.index]
    guard tables.resource.removal.asks, let parents = parents(scope.index) else { return 0 }
    let isHere = tables.parentColumn.map { "AND t.\($0) = ?4" } ?? ""
    return try database.run(
      """
      INSERT OR IGNORE INTO \(tables.keys.missing)
      SELECT DISTINCT ?1, ?2, \(tables.key(of: "t")), t.\(tables.id), \(Self.doubted), 0
      FROM (\(parents)) p CROSS JOIN main.\(tables.table) t ON t.\(tables.id) = p.id \(isHere)
      WHERE NOT EXISTS (SELECT 1 FROM \(tables.keys.received) g
        WHERE g.resource = ?1 AND g.list = ?2 AND g.key = \(tables.key(of: "t")) AND +g.kind <> 3)
      """, in: scope)
  }

  /// The parents of the resource's own lists that have such records, as a query. nil if these lists need no request:
  /// the resource has no parent, or `by_key` is not asked.
  func lists(_ index: Int) -> String? {
    let tables = family.tables[index]
    guard tables.resource.removal.asks, let column = tables.parentColumn, let parents = parents(index) else {
      return nil
    }
    return
      "SELECT DISTINCT q.\(column) AS id FROM (\(parents)) p CROSS JOIN main.\(tables.table) q ON q.\(tables.id) = p.id"
  }

  /// A condition: this sync has found that upstream still has the record `id`. A whole pull lists it, an incremental
  /// pull received it, or `by_key` has it (E7.5).
  func isConfirmed(_ index: Int, id: String, isIncremental: Bool) -> String {
    let tables = family.tables[index]
    let keys = tables.keys
    var (lists, list, isWhole) = ("", "0", isIncremental ? "false" : "true")
    if let column = tables.parentColumn {
      lists = "CROSS JOIN temp.lists o ON o.resource = \(index) AND o.parent = q.\(column)"
      list = "o.list"
      isWhole = "o.state = \(ParentTables.State.pulled.rawValue) AND o.start IS NULL"
    }
    return """
      EXISTS (SELECT 1 FROM main.\(tables.table) q \(lists) WHERE q.\(tables.id) = \(id) AND (\(isWhole)
        OR EXISTS (SELECT 1 FROM \(keys.missing) m
          WHERE m.resource = \(index) AND m.list = \(list) AND m.record_id = q.\(tables.id) AND m.\(KeyTables.isFound))
        OR EXISTS (SELECT 1 FROM \(keys.received) g
          WHERE g.resource = \(index) AND g.list = \(list) AND g.key = \(tables.key(of: "q")) AND +g.kind < 2)))
      """
  }
}

extension Family {
  /// A condition for `row` of `lists`: the list has vanished. One that vanishes again has failed if this sync found
  /// that upstream still has its parent (E7.5). One that failed stays failed only if it failed for the same reason.
  /// - Parameters:
  ///   - row: a list of resource ?1, whose name is ?2.
  ///   - pull: with the comparisons of this sync.
  ///   - isParentStored: false if the parent has no table, so that no list has vanished before.
  func hasVanished(
    _ row: String, child: Int, parent: Int, pull: PullFacts, isParentStored: Bool = true
  ) -> String {
    guard isParentStored else { return "\(row).state = \(ParentTables.State.vanished.rawValue)" }
    let isIncremental = pull.incremental.contains(tables[parent].resource.name)
    let before = """
      coalesce((SELECT CASE WHEN k.state = 'failed' AND k.error IS NOT \(row).error THEN 'current' ELSE k.state END
        FROM main.cache_resources c CROSS JOIN main.cache_lists k
        ON k.resource_id = c.id AND k.parent_id = \(row).parent WHERE c.name = ?2), 'current')
      """
    let isConfirmed = VanishedLists(family: self).isConfirmed(parent, id: "\(row).parent", isIncremental: isIncremental)
    return """
      (\(row).state = \(ParentTables.State.vanished.rawValue) AND CASE \(before) WHEN 'current' THEN 1
        WHEN 'vanished' THEN NOT \(isConfirmed) ELSE 0 END)
      """
  }
}
