package import FoundationEssentials
internal import RosterModel

extension CacheReader {
  /// One record as it was at a time, and its history until then: what is there now, and what `changes` takes back of
  /// it. Throws `Failure`: 65 where `history` has ended what would tell, else as `show(_:key:)`.
  package func show(_ resource: String, key: String, at date: Date) throws -> RecordHistory {
    try show(resource, key: [key], at: date)
  }

  /// The same of a key of several parts.
  package func show(_ resource: String, key: [String], at date: Date) throws -> RecordHistory {
    try read {
      var found = try history(resource, key)
      let time = date.rfc3339
      found.at = time
      let (later, until) = (found.changes.filter { $0.at > time }, found.changes.filter { $0.at <= time })
      if found.hasSnapshot { found.hasSnapshot = try wasPublished(resource, time) }
      found.changes = until
      guard found.hasSnapshot else {
        found.record = nil
        return found
      }
      guard try isEverythingKnown(since: time), try !wasAway(resource, since: time) else {
        throw Self.ended(resource, time)
      }
      if let next = later.first { found.record = next.before }
      return found
    }
  }

  /// Whether the resource had a snapshot by then. The first one writes no changes, so that `changes` alone does not
  /// tell.
  private func wasPublished(_ resource: String, _ time: String) throws -> Bool {
    // It may have gone meanwhile, and come back.
    let then = try database.first(
      """
      SELECT EXISTS (SELECT 1 FROM sync_resources r WHERE r.sync_id = s.id AND r.resource = ?1) FROM syncs s
      WHERE s.outcome IN ('published', 'unchanged') AND s.finished_at <= ?2 ORDER BY s.id DESC LIMIT 1
      """, .text(resource), .text(time)
    ) { $0.int(0) != 0 }
    if let then { return then }
    let known = try database.first(
      """
      SELECT EXISTS (SELECT 1 FROM sync_resources r JOIN syncs s ON s.id = r.sync_id
          WHERE r.resource = ?1 AND s.finished_at <= ?2)
        OR (SELECT at FROM changes WHERE resource = ?1 ORDER BY id LIMIT 1) <= ?2,
        (SELECT min(id) FROM syncs) = 1
      """, .text(resource), .text(time)
    ) { (was: $0.int(0) != 0, areAllThere: $0.int(1) != 0) }
    if known?.was == true { return true }
    // With the first sync all others are there, and none of them was it.
    guard known?.areAllThere == true else { throw Self.ended(resource, time) }
    return false
  }

  /// Whether each change behind a time is still there: none was ended, or one from before is there, or a sync from
  /// before that is not kept for another reason, since syncs and changes are ended by the same time.
  private func isEverythingKnown(since time: String) throws -> Bool {
    try database.first(
      """
      SELECT coalesce((SELECT id = 1 OR at <= ?1 FROM changes ORDER BY id LIMIT 1), 1)
        OR EXISTS (SELECT 1 FROM syncs WHERE started_at <= ?1 AND \(FixedTables.isNotKept))
      """, .text(time)
    ) { $0.int(0) != 0 } ?? false
  }

  /// Whether the resource was not named for a while behind that time: what went with it, and came with it, is in no
  /// change.
  private func wasAway(_ resource: String, since time: String) throws -> Bool {
    try database.first(
      """
      SELECT EXISTS (SELECT 1 FROM syncs s WHERE s.outcome IN ('published', 'unchanged') AND s.finished_at > ?2
        AND NOT EXISTS (SELECT 1 FROM sync_resources r WHERE r.sync_id = s.id AND r.resource = ?1))
      """, .text(resource), .text(time)
    ) { $0.int(0) != 0 } ?? false
  }

  private static func ended(_ resource: String, _ time: String) -> Failure {
    Failure(
      .badAnswer, step: "show the \(resource) as it was at \(time)", subject: "the cache",
      cause: "history has ended what would tell, or the resource was not named for a while since",
      hint: "name a later time; cache.history says how long changes are kept")
  }
}
