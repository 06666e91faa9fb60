internal import FoundationEssentials
internal import RosterDecode
internal import RosterModel

/// Publishes what belongs to the lists of a child besides their pages.
extension ResourcePublication {
  /// Removes the records whose parents are removed, with their lists (E5.1).
  mutating func removeWithParents() throws {
    guard let parent = whole.family.parent(of: index), let column = tables.parentColumn else { return }
    let ids = try database.rows(
      """
      SELECT t.\(tables.id) FROM temp.removed_parents r CROSS JOIN main.\(tables.table) t ON t.\(column) = r.record_id
      WHERE r.resource = ?1 ORDER BY t.\(tables.id)
      """, Value(parent)
    ) { $0.integer(0) }
    for id in ids { try records.remove(id) }
    let lists = try database.rows(
      """
      SELECT l.id, l.parent_id FROM temp.removed_parents r
      CROSS JOIN main.cache_lists l ON l.resource_id = ?2 AND l.parent_id = r.record_id WHERE r.resource = ?1
      """, Value(parent), .integer(list.resource)
    ) { (id: $0.integer(0), parent: $0.integer(1)) }
    for list in lists {
      for table in ["cache_pages", "cache_unlisted", "cache_overlaid"] {
        try database.run("DELETE FROM main.\(table) WHERE list_id = ?1", .integer(list.id))
      }
      try database.run("DELETE FROM main.cache_lists WHERE id = ?1", .integer(list.id))
      try database.run(
        "DELETE FROM main.rejects WHERE resource = ?1 AND parent_id = ?2", .text(plan.resource.name),
        .integer(list.parent))
    }
  }

  /// Notes when a complete list is requested again (E3).
  /// - Parameter change: the change of the number of its records.
  func settleList(_ change: Int) throws {
    guard let each = plan.resource.each else { return }
    let facts = try database.first(
      "SELECT asked, answered, path FROM temp.lists WHERE list = ?1", .integer(scope.number)
    ) { (asked: $0.text(0), answered: $0.isNull(1) ? nil : $0.real(1), path: $0.text(2)) }
    guard let facts else { return }
    let due = try dueTime(each, facts.asked, facts.answered, facts.path)
    let wholeAt: String? = each.wholeEvery == .inEachSync ? nil : whole.at
    try database.run(
      """
      UPDATE main.cache_lists SET records = coalesce(records, 0) + ?2, proof = ?3, asked = ?4, due_at = ?5,
        whole_at = ?6, state = 'current', error = NULL
      WHERE id = ?1 AND (records IS NULL OR ?2 <> 0 OR proof IS NOT ?3 OR asked IS NOT ?4 OR due_at IS NOT ?5
        OR whole_at IS NOT ?6 OR state <> 'current')
      """, .integer(list.id), Value(change), .text(end.proof.rawValue), .text(facts.asked),
      due.map(Value.real) ?? .null, Value(wholeAt))
  }

  /// Seconds since 1970; 0 if the next sync requests the list again, nil if only a change of its parent does.
  private func dueTime(_ each: Each, _ asked: String, _ answered: Double?, _ path: String) throws -> Double? {
    if each.wholeEvery == .inEachSync { return nil }
    let hasAbsent = try database.first(
      "SELECT 1 FROM main.cache_unlisted WHERE list_id = ?1 AND absent > 0 LIMIT 1", .integer(list.id)
    ) { _ in true }
    let isYoung = Each.isYoung(asked, answered: answered ?? whole.time.timeIntervalSince1970)
    let isAbsenceOpen = hasAbsent == true && plan.resource.removal != .never
    // A missing record that could not be asked for is asked for by the next sync.
    let isUnasked = end.removal == .nobody && found.missing > 0
    if isAbsenceOpen || isUnasked || isYoung { return 0 }
    guard case .every(let period) = each.wholeEvery else { return nil }
    let digest = try Cache.digest(database)(Array(path.utf8))
    return whole.time.timeIntervalSince1970 + each.dueAge(period, spread: UInt64(bitPattern: digest))
  }

  /// Failed and vanished lists keep their records, and are requested again by the next sync (E7). A list that vanishes
  /// although upstream still lists its parent has failed (E7.5).
  mutating func noteFailedLists() throws {
    let failed = try database.rows(
      "SELECT parent, state, error FROM temp.lists WHERE resource = ?1 AND state IN (4, 5) ORDER BY list", Value(index)
    ) { (parent: $0.integer(0), hasVanished: $0.int(1) == 5, error: $0.text(2)) }
    let name = plan.resource.name
    for entry in failed {
      let list =
        try ListID(name, parent: entry.parent, database) ?? ListID(adding: name, parent: entry.parent, database)
      try database.run(
        """
        UPDATE main.cache_lists SET due_at = 0, error = ?3, records = coalesce(records, 0),
          state = CASE WHEN ?2 AND state = 'current' THEN 'vanished' ELSE 'failed' END
        WHERE id = ?1
        """, .integer(list.id), Value(entry.hasVanished ? 1 : 0), .text(entry.error))
    }
  }

  mutating func countLists() throws {
    let states = try database.rows(
      "SELECT state, count(*) FROM temp.lists WHERE resource = ?1 AND state IN (2, 4, 5) GROUP BY state", Value(index)
    ) { (state: $0.int(0), count: $0.int(1)) }
    for (state, count) in states {
      counts.requested += count
      if state != 2 { counts.failed += count }
    }
    // The first publication of a child may have no list at all.
    try database.run(
      "UPDATE main.cache_resources SET snapshot = coalesce(snapshot, ?2), list = coalesce(?3, list) WHERE id = ?1 AND (snapshot IS NULL OR list IS NOT ?3)",
      .integer(list.resource), .integer(whole.sync), .text(plan.resource.listed))
  }
}
