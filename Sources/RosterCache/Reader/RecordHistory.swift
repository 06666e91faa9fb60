package import FoundationEssentials
package import RosterCore
internal import RosterDecode

extension CacheReader {
  /// One record, or the known facts of a removed one, and its history.
  package struct RecordHistory: Sendable, Equatable {
    /// The resource's name.
    package var resource: String
    /// The columns of the resource's table.
    package var columns: [Resource.Column]
    /// Columns that distinguish one record from another, the key first.
    package var telling: [Resource.Column]
    /// A JSON object of columns and lists; nil if the record does not exist.
    package var record: String?
    /// Oldest first.
    package var changes: [RecordChange]
    /// True if a snapshot was published.
    package var hasSnapshot: Bool
    /// The time that the history was requested for (RFC 3339); nil means now.
    package var at: String?

    /// The change that removed the record; nil if it exists, or never existed within `history`.
    package var removal: RecordChange? { record == nil ? changes.last { $0.kind == .removed } : nil }

    /// The documented JSON of `rosterctl show`.
    package var json: String {
      JSONWriter.object { json in
        json.member("resource", resource)
        json.member("record", json: record)
        json.name("changes")
        json.list { json in for change in changes { change.write(to: &json) } }
      }.text
    }
  }

  /// The known facts of the record with that key. Throws `Failure`: 1 for an unknown resource, 64 for a text that
  /// cannot be a key.
  /// - Parameters:
  ///   - key: the parts of the key. Another number of parts throws 64.
  ///   - parents: keys of the ancestors of a child, outermost first; empty if none is named.
  package func show(_ resource: String, key: [String], of parents: [String] = []) throws -> RecordHistory {
    try read {
      let tables = try tables(resource)
      if !parents.isEmpty, tables.parent == nil { _ = try parentID(of: tables, keys: parents) }
      let ids =
        tables.parent == nil
        ? try ids(tables.key(key), tables: tables) : try self.ids(ofChild: tables, key: key, of: parents)
      let record = try ids.compactMap { id in try database.first(tables.shown, .integer(id)) { $0.text(0) } }.first
      return RecordHistory(
        resource: resource, columns: tables.resource.columns, telling: tables.telling, record: record,
        changes: try ids.flatMap { try changes(of: $0, tables) }.sorted { $0.id < $1.id },
        hasSnapshot: try hasSnapshot())
    }
  }

  /// Current and earlier record ids of a key. A record with a text key gets a new id when it reappears.
  private func ids(_ key: String, tables: ResourceTables) throws -> [Int64] {
    if tables.hasTextKey {
      return try database.rows(tables.idsOfText, .text(key), .text(tables.resource.name)) { $0.integer(0) }
    }
    guard let number = Int64(key) else {
      throw Failure(
        .usage, step: Self.step, subject: key, cause: "the keys of \(tables.resource.name) are whole numbers")
    }
    return [number]
  }

  private func changes(of record: Int64, _ tables: ResourceTables) throws -> [RecordChange] {
    let select = RecordChange.select(try Schema(of: database).tables)
    return try database.rows(
      "\(select) WHERE resource = ?1 AND record_id = ?2 ORDER BY id", .text(tables.resource.name), .integer(record),
      read: RecordChange.init)
  }
}

extension ResourceTables {
  /// The JSON of record ?1.
  fileprivate var shown: String { "SELECT \(jsonText(isShown: true)) FROM main.\(table) r WHERE r.\(id) = ?1" }

  /// The record ids of key ?1 in the resource ?2.
  fileprivate var idsOfText: String {
    """
    SELECT \(id) FROM main.\(table) AS t WHERE \(hasKey("t", "?1")) UNION SELECT record_id FROM main.changes
    WHERE resource = ?2 AND kind = 'removed' AND CASE WHEN json_valid(before) THEN \(key(inDocument: "before")) END = ?1
    """
  }

  /// Joins the parts of a key. Throws `Failure` (64) for parts that cannot be a key.
  func key(_ parts: [String]) throws -> String {
    let columns = keyParts.map { resource.columns[$0] }
    guard parts.count == columns.count else {
      let names = columns.map(\.name).joined(separator: ", ")
      throw unusable(parts, cause: "a key of \(resource.name) has \(columns.count.counted(as: "part")): \(names)")
    }
    guard resource.hasCompositeKey else { return parts[0] }
    var json = JSONWriter()
    try json.list { json in
      for (column, part) in zip(columns, parts) {
        if part.isEmpty, column.isNullable {
          json.value(JSONValue.null)
          continue
        }
        guard column.type.isWhole else {
          json.value(part)
          continue
        }
        guard let number = Int64(part) else { throw unusable(parts, cause: "\(column.name) is a whole number") }
        json.value(number)
      }
    }
    return json.text
  }

  private func unusable(_ parts: [String], cause: String) -> Failure {
    Failure(.usage, step: CacheReader.step, subject: parts.joined(separator: " "), cause: cause)
  }
}

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
