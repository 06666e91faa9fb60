internal import FoundationEssentials
internal import RosterCore
internal import RosterDecode

/// Publishes what belongs to the lists of a child besides their pages.
extension ResourcePublication {
  /// Removes the records whose parents are removed, with their lists.
  mutating func removeWithParents() throws {
    guard let parent = publication.family.parent(of: index), let column = tables.parentColumn else { return }
    let ids = try database.rows(
      """
      SELECT t.\(tables.id) FROM temp.removed_parents r CROSS JOIN \(tables.from) t ON t.\(column) = r.record_id
      WHERE r.resource = ?1 ORDER BY t.\(tables.id)
      """, Value(parent)
    ) { $0.integer(0) }
    for id in ids { try records.remove(id) }
    let lists = try database.rows(
      """
      SELECT l.id, l.parent_id, l.pages FROM temp.removed_parents r
      CROSS JOIN main.cache_lists l ON l.resource_id = ?2 AND l.parent_id = r.record_id WHERE r.resource = ?1
      """, Value(parent), .integer(list.resource)
    ) { (id: $0.integer(0), parent: $0.integer(1), pages: $0.int(2)) }
    for list in lists {
      pageChange -= list.pages
      for table in ["cache_pages", "cache_unlisted", "cache_overlaid"] {
        try database.run("DELETE FROM main.\(table) WHERE list_id = ?1", .integer(list.id))
      }
      try database.run("DELETE FROM main.cache_lists WHERE id = ?1", .integer(list.id))
      try database.run(
        "DELETE FROM main.rejects WHERE resource = ?1 AND parent_id = ?2", .text(plan.resource.name),
        .integer(list.parent))
    }
  }

  /// True if the list would not have been requested for a change of its parent.
  func isUntold(_ list: CompleteList) throws -> Bool {
    guard plan.resource.each?.changed.isEmpty == false, !list.scope.isIncremental else { return false }
    return try database.count(
      """
      SELECT asked IS ?3 AND coalesce(due_at > 0, 1) AND state = 'current' FROM main.cache_lists
      WHERE resource_id = ?1 AND parent_id = ?2 AND asked IS NOT NULL
      """, .integer(self.list.resource), .integer(list.scope.parent), .text(list.asked)) == 1
  }

  /// Notes when a complete list is requested again.
  /// - Parameter change: the change of the number of its records.
  func settle(_ complete: CompleteList, change: Int) throws {
    guard let each = plan.resource.each else { return }
    let proof = complete.scope.isIncremental ? (complete.isWeak ? .weak : .since) : decision.proof
    let wholeAt = try wholeTime(each, complete: complete)
    let due = try dueTime(each, complete: complete, wholeAt: wholeAt)
    try database.run(
      """
      UPDATE main.cache_lists SET records = coalesce(records, 0) + ?2, proof = ?3, asked = ?4, due_at = ?5,
        whole_at = ?6, missed = ?7, state = 'current', error = NULL, not_found_at = NULL
      WHERE id = ?1 AND (records IS NULL OR ?2 <> 0 OR proof IS NOT ?3 OR asked IS NOT ?4 OR due_at IS NOT ?5
        OR whole_at IS NOT ?6 OR missed IS NOT ?7 OR state <> 'current')
      """, .integer(list.id), Value(change), .text(proof.rawValue), .text(complete.asked),
      due.map(Value.real) ?? .null, Value(wholeAt), Value(try missedOfList()))
  }

  /// The last whole pull of the list; nil if every sync pulls it whole.
  private func wholeTime(_ each: Each, complete: CompleteList) throws -> String? {
    if plan.resource.since == nil { return each.wholeEvery == .inEachSync ? nil : publication.at }
    return try database.first("SELECT whole_at FROM main.cache_lists WHERE id = ?1", .integer(list.id)) {
      $0.optionalText(0)
    } ?? nil
  }

  /// The missed records of the last whole pull of the list.
  private func missedOfList() throws -> Int64? {
    if !found.isIncremental { return missedNow }
    return try database.first("SELECT missed FROM main.cache_lists WHERE id = ?1", .integer(list.id)) {
      $0.optionalInteger(0)
    } ?? nil
  }

  /// Seconds since 1970, or what `FixedTables.lists` says; nil if only a change of its parent requests the list again.
  private func dueTime(_ each: Each, complete: CompleteList, wholeAt: String?) throws -> Double? {
    let isWholeDue =
      complete.scope.isIncremental ? try Cache.history(of: list, question, in: database).isUnsettled : !isSettled
    if plan.resource.since != nil, isWholeDue { return Double(FixedTables.dueWhole) }
    if each.wholeEvery == .inEachSync { return nil }
    let hasAbsent =
      try database.count(
        "SELECT 1 FROM main.cache_unlisted WHERE list_id = ?1 AND absent > 0 LIMIT 1", .integer(list.id)) == 1
    let isYoung = complete.answered.map { Each.isYoung(complete.asked, answered: $0) } ?? false
    let isAbsenceOpen = hasAbsent && !plan.resource.removal.keeps
    // A missing record that could not be asked for is asked for by the next sync.
    let isUnasked = (decision.keepsMissing || !decision.isSettled) && found.missing + found.asked > 0
    if isAbsenceOpen || isUnasked || isHeldBack || isYoung || complete.isWeak { return 0 }
    let last = wholeAt.flatMap { Date(rfc3339: $0) } ?? publication.time
    return each.dueTime(after: last, path: complete.path, try database.pageDigest())
  }

  /// Failed and vanished lists keep their records, and are requested again by the next sync. After the second
  /// answer 404 or 410 in succession the pauses grow with the time since the first one, so that they double.
  mutating func noteFailedLists() throws {
    let name = plan.resource.name
    let failed = try database.rows(
      """
      SELECT l.parent, l.state, l.error, \(Family.hasVanished("l")) FROM temp.lists l
      WHERE l.resource = ?1 AND l.state IN (4, 5) ORDER BY l.list
      """, Value(index), .text(name)
    ) {
      (
        parent: $0.integer(0), isNotFound: $0.int(1) == ParentTables.State.vanished.rawValue, error: $0.text(2),
        hasVanished: $0.int(3) != 0
      )
    }
    for entry in failed {
      let list =
        try ListID(name, parent: entry.parent, in: database) ?? ListID(adding: name, parent: entry.parent, database)
      try database.run(
        """
        UPDATE main.cache_lists AS l SET error = ?3, records = coalesce(records, 0),
          due_at = CASE WHEN \(FixedTables.isDueWhole("l")) THEN \(FixedTables.dueWhole)
            WHEN ?4 AND not_found_at < ?5 THEN ?5 + min(?5 - not_found_at, \(FixedTables.maxPause)) ELSE 0 END,
          not_found_at = CASE WHEN ?4 THEN coalesce(not_found_at, ?5) END,
          state = CASE WHEN ?2 THEN 'vanished' ELSE 'failed' END
        WHERE id = ?1
        """, .integer(list.id), Value(entry.hasVanished), .text(entry.error), Value(entry.isNotFound),
        Value(publication.time))
    }
  }

  /// A list that is empty by its answer was requested, and one that is empty without an answer was not.
  mutating func countLists() throws {
    let states = try database.rows(
      """
      SELECT state, count(*), sum(start IS NULL), sum(is_resumed) FROM temp.lists
      WHERE resource = ?1 AND state IN (2, 3, 4, 5) AND (state <> 3 OR answered IS NOT NULL) GROUP BY state
      """, Value(index)
    ) { (state: ParentTables.State(rawValue: $0.int(0)), count: $0.int(1), whole: $0.int(2), resumed: $0.int(3)) }
    for (state, count, whole, resumed) in states {
      counts.requested += count - resumed
      if state == .failed || state == .vanished { counts.failed += count }
      if state == .pulled { counts.whole = whole }
    }
    // The first publication of a child may have no list at all.
    try database.run(
      "UPDATE main.cache_resources SET snapshot = coalesce(snapshot, ?2), list = coalesce(?3, list) WHERE id = ?1 AND (snapshot IS NULL OR list IS NOT ?3)",
      .integer(list.resource), .integer(publication.sync), .text(tables.listed))
  }
}

extension Family {
  /// A condition for `row` of `lists`: 404 or 410 is the answer, for the first time in succession. ?2 is the
  /// name of the resource.
  static func hasVanished(_ row: String) -> String {
    """
    (\(row).state = \(ParentTables.State.vanished.rawValue) AND NOT EXISTS (
      SELECT 1 FROM main.cache_resources c CROSS JOIN main.cache_lists k
      ON k.resource_id = c.id AND k.parent_id = \(row).parent WHERE c.name = ?2 AND k.not_found_at IS NOT NULL))
    """
  }
}
