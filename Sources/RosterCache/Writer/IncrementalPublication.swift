internal import RosterCore
internal import RosterDecode

/// Notes of an incremental pull beside its records, which the next whole pull clears.
extension ResourcePublication {
  /// Notes the effect of writing a record of a page.
  mutating func note(_ outcome: RecordWriter.Outcome, of decoder: inout RecordDecoder) throws {
    if case .same = outcome { return }
    guard found.isIncremental else {
      if isMissed(decoder.mark) { missed += 1 }
      return
    }
    switch outcome {
    case .same: break
    // No page of the last whole pull lists the record.
    case .added(let id):
      try database.statement("INSERT OR IGNORE INTO main.cache_unlisted VALUES (?1, ?2, 0)")
        .run([.integer(list.id), .integer(id)])
    case .ownedByLater: break
    case .changed:
      let overlay = try database.statement("INSERT OR IGNORE INTO main.cache_overlaid VALUES (?1, ?2)")
      overlay.bind(1, list.id)
      overlay.bind(2, decoder.key)
      try overlay.run()
    }
  }

  /// True if no incremental pull would have asked for a record with that value at `since.at`.
  private func isMissed(_ value: Int64?) -> Bool {
    if isUntold { return true }
    guard let since = plan.resource.since, since.at != nil, let mark else { return false }
    return !since.asks(for: value, from: mark)
  }

  /// Call this before the records are removed.
  func overlayRemoved() throws {
    try database.run(
      """
      INSERT OR IGNORE INTO main.cache_overlaid
      SELECT ?3, key FROM \(tables.keys.missing)
      WHERE resource = ?1 AND list = ?2 AND record_id > \(KeyTables.lastPlaceholder)
        AND \(decision.isRemoved(comparison: found))
      """, in: scope)
  }

  /// Ends the absence of records that an incremental pull received, because upstream has them (`twice`).
  func forgetAbsence() throws {
    let received = found.isAsked ? "\(tables.keys.missing) c" : "\(tables.keys.pulled) c"
    try database.run(
      """
      UPDATE main.cache_unlisted SET absent = 0 WHERE list_id = ?3 AND record_id IN (
        SELECT t.\(tables.id) FROM \(received) CROSS JOIN \(tables.from) t ON \(tables.hasKey("t", "c.key"))
        WHERE c.resource = ?1 AND c.list = ?2 \(found.isAsked ? "AND c.\(KeyTables.isFound)" : "")) AND absent > 0
      """, in: scope)
  }

  /// Clears the notes: a whole pull has transferred each page that lists an overlaid record, and does not need pages of
  /// older incremental pulls.
  func endOverlay() throws {
    try database.run("DELETE FROM main.cache_overlaid WHERE list_id = ?", .integer(list.id))
    try database.run(
      "DELETE FROM main.cache_pages WHERE list_id = ?1 AND address >= ?2 AND address < ?3", .integer(list.id),
      .text(Resource.incrementalPrefix), .text("since!"))
  }

  /// The number of missed records after a whole pull; nil after any other pull, and without an earlier mark.
  var missedNow: Int64? { !found.isIncremental && (isUntold || mark != nil) ? Int64(missed) : nil }

  /// False if a missing record of this list could not be asked for. False too if it waits for a second whole pull: a
  /// delta token reports only later deletions.
  var isSettled: Bool {
    let isAwaited =
      plan.resource.since?.token != nil && plan.resource.removal.waits && found.missing > found.missingTwice
    return (decision.isSettled || found.missing == 0) && !isAwaited
  }

  /// The mark moves in the transaction that publishes the records. An empty list keeps no mark:
  /// when it is requested again, it may have records that are older.
  func writeMark() throws {
    let (moved, token) = move.stored
    if found.isIncremental {
      try database.run(
        """
        UPDATE main.cache_lists SET mark = coalesce(?2, mark), token = coalesce(?3, token)
        WHERE id = ?1 AND (mark IS NOT coalesce(?2, mark) OR token IS NOT coalesce(?3, token))
        """, .integer(list.id), Value(moved), Value(token))
    } else if plan.resource.since != nil {
      try database.run(
        """
        UPDATE main.cache_lists SET mark = coalesce(?2, CASE WHEN question = ?3 AND NOT ?8 THEN mark END),
          token = coalesce(?6, CASE WHEN question = ?3 AND NOT ?8 THEN token END), question = ?3,
          whole_at = CASE WHEN ?7 THEN ?4 ELSE whole_at END, missed = ?5,
          due_at = CASE WHEN parent_id <> 0 THEN due_at WHEN NOT ?7 THEN \(FixedTables.dueWhole) END
        WHERE id = ?1
        """, .integer(list.id), Value(moved), .integer(question), .text(publication.at),
        Value(missedNow), Value(token), Value(isSettled), Value(isEmpty))
    } else {
      try database.run(
        """
        UPDATE main.cache_lists SET (question, mark, token, whole_at, missed) = (?2, NULL, NULL, NULL, NULL)
        WHERE id = ?1 AND question <> ?2
        """, .integer(list.id), .integer(question))
    }
  }
}
