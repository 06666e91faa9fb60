package import FoundationEssentials
internal import RosterModel

extension CacheReader {
  /// The record at a given time, and its history until then: the current record without the later `changes`. Throws
  /// `Failure`: 65 if the needed history has expired, else the failures of `show(_:key:of:)`.
  package func show(
    _ resource: String, key: [String], of parents: [String] = [], at date: Date
  ) throws -> RecordHistory {
    try read {
      var found = try show(resource, key: key, of: parents)
      let time = date.rfc3339
      found.at = time
      let (later, until) = (found.changes.filter { $0.at > time }, found.changes.filter { $0.at <= time })
      if found.hasSnapshot { found.hasSnapshot = try wasPublished(resource, time: time) }
      found.changes = until
      guard found.hasSnapshot else {
        found.record = nil
        return found
      }
      guard try isEverythingKnown(since: time), try !wasAway(resource, since: time) else {
        throw Self.ended(resource, time: time)
      }
      if let next = later.first { found.record = next.before }
      return found
    }
  }

  /// True if the resource had a snapshot at that time. The first snapshot writes no changes, so that `changes` alone
  /// does not show this.
  private func wasPublished(_ resource: String, time: String) throws -> Bool {
    // The resource may have been removed and added again since.
    let then = try database.first(
      """
      SELECT EXISTS (SELECT 1 FROM main.sync_resources r WHERE r.sync_id = s.id AND r.resource = ?1) FROM main.syncs s
      WHERE s.outcome IN ('published', 'unchanged') AND s.finished_at <= ?2 ORDER BY s.id DESC LIMIT 1
      """, .text(resource), .text(time)
    ) { $0.int(0) != 0 }
    if let then { return then }
    let known = try database.first(
      """
      SELECT EXISTS (SELECT 1 FROM main.sync_resources r JOIN main.syncs s ON s.id = r.sync_id
          WHERE r.resource = ?1 AND s.finished_at <= ?2)
        OR (SELECT at FROM main.changes WHERE resource = ?1 ORDER BY id LIMIT 1) <= ?2,
        (SELECT min(id) FROM main.syncs) = 1
      """, .text(resource), .text(time)
    ) { (was: $0.int(0) != 0, areAllThere: $0.int(1) != 0) }
    if known?.was == true { return true }
    // If the first sync is still there, all later ones are too, and the resource was in no sync until then.
    guard known?.areAllThere == true else { throw Self.ended(resource, time: time) }
    return false
  }

  /// True if no change after that time has expired, for one of three reasons. No change has expired at all. A change
  /// from before that time is still there. A sync from before it is still there that history would have deleted; syncs
  /// and changes expire at the same time.
  private func isEverythingKnown(since time: String) throws -> Bool {
    try database.count(
      """
      SELECT coalesce((SELECT id = 1 OR at <= ?1 FROM main.changes ORDER BY id LIMIT 1), 1)
        OR EXISTS (SELECT 1 FROM main.syncs WHERE started_at <= ?1 AND \(FixedTables.isNotKept))
      """, .text(time)) == 1
  }

  /// True if the resource was missing from the configuration at some time after that date: its removal and return are
  /// not in `changes`.
  private func wasAway(_ resource: String, since time: String) throws -> Bool {
    try database.count(
      """
      SELECT EXISTS (SELECT 1 FROM main.syncs s WHERE s.outcome IN ('published', 'unchanged') AND s.finished_at > ?2
        AND NOT EXISTS (SELECT 1 FROM main.sync_resources r WHERE r.sync_id = s.id AND r.resource = ?1))
      """, .text(resource), .text(time)) == 1
  }

  private static func ended(_ resource: String, time: String) -> Failure {
    Failure(
      .badAnswer, step: "show the state of \(resource) at \(time)", subject: "the cache",
      cause: "the needed history has expired, or the resource was missing from the configuration for a while since",
      hint: "name a later time; cache.history says how long changes are kept")
  }
}
