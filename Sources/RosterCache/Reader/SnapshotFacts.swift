package import RosterCore
internal import RosterDecode

extension CacheFacts {
  /// Reads the facts of the cache. Throws `SQLiteError`.
  init(_ database: Database, isWALPinned: Bool = false) throws {
    let last = try database.first(
      "\(SyncRow.select) WHERE outcome <> 'running' ORDER BY id DESC LIMIT 1", read: SyncRow.read)
    let (resources, emptied) = (try Self.resources(database), try Self.emptied(database))
    let requests = try Self.expectedRequests(database, resources)
    let failedLists = try Self.failedLists(database, of: resources)
    let facts = try database.first(
      "SELECT feed, snapshot, published_at, verified_at, records, pages FROM main.cache_info"
    ) {
      CacheFacts(
        feed: $0.text(0), snapshot: $0.optionalInteger(1), publishedAt: $0.optionalText(2),
        verifiedAt: $0.optionalText(3), records: $0.int(4), pages: $0.int(5), resources: resources,
        emptied: emptied, requests: requests, last: last, isWALPinned: isWALPinned)
    }
    // The row is created with the file.
    guard let facts else { throw SQLiteError.damaged("cache_identity is empty") }
    self = facts
    self.failedLists = failedLists
    conclusive = last?.outcome.isConclusive == true ? last : try database.lastConclusive()
  }

  /// Requests of the last good sync. A whole pull of a list with `since` counts as one request, because the next sync
  /// can postpone another one. A pull of all lists of a child counts as a usual one if few are usually due.
  private static func expectedRequests(
    _ database: Database, _ resources: [DaemonStatus.CachedResource]
  ) throws -> Int? {
    let requests = try database.first(
      """
      SELECT s.requests - coalesce((SELECT sum(max(coalesce(r.requests, 0) - 1, 0)) FROM main.sync_resources r
        JOIN main.cache_resources c ON c.name = r.resource JOIN main.cache_lists l ON l.resource_id = c.id AND l.parent_id = 0
        WHERE r.sync_id = s.id AND r.whole > 0 AND l.whole_at IS NOT NULL), 0)
      FROM main.syncs s WHERE s.id = \(FixedTables.verified)
      """
    ) { $0.int(0) }
    return try requests.map { requests in
      try resources.reduce(requests) { try $0 - unusualRequests(of: $1, database) }
    }
  }

  /// The requests of the last good sync for a child beyond those of a usual sync. 0 unless that sync was the
  /// first one, or requested all lists that are not empty. The latter are counted only if about as many were requested.
  private static func unusualRequests(
    of child: DaemonStatus.CachedResource, _ database: Database
  ) throws -> Int {
    guard let lists = child.lists else { return 0 }
    let all =
      lists.requested * 10 < lists.total
      ? lists.total
      : try database.count(
        """
        SELECT count(*) FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
        WHERE c.name = ?1 AND l.pages > 0
        """, .text(child.name))
    let unusual = try database.first(
      """
      SELECT max(s.requests - coalesce(\(CacheReader.usualRequests("?1", lists: "?2")), 0), 0)
      FROM main.resources r JOIN main.sync_resources s ON s.resource = r.name AND s.sync_id = \(FixedTables.verified)
      WHERE r.name = ?1 AND json_extract(r.definition, '$.each.whole_every') IS NOT NULL
        AND (s.lists >= ?2 OR s.sync_id = \(CacheReader.firstSync("?1")))
      """, .text(child.name), Value(all)
    ) { $0.int(0) }
    return unusual ?? 0
  }

  private static func resources(_ database: Database) throws -> [DaemonStatus.CachedResource] {
    let absent = try Dictionary(uniqueKeysWithValues: database.absentRecords())
    return try database.rows(
      """
      SELECT r.name, r."table", r.records, r.pages, r.proof, r.validators, r.distrusted_since, r.parent,
        (SELECT min(l.whole_at) FROM main.cache_lists l WHERE l.resource_id = c.id AND l.whole_at IS NOT NULL),
        (SELECT sum(l.missed) FROM main.cache_lists l WHERE l.resource_id = c.id AND l.missed IS NOT NULL),
        json_extract(r.definition, '$.since') IS NOT NULL
      FROM main.resources r JOIN main.cache_resources c ON c.name = r.name ORDER BY r.name
      """
    ) { row in
      var resource = DaemonStatus.CachedResource(
        name: row.text(0), table: row.text(1), records: row.int(2), pages: row.int(3), proof: row.optionalText(4),
        absent: absent[row.text(0)] ?? 0)
      resource.validators = row.text(5)
      resource.distrustedSince = row.optionalText(6)
      resource.parent = row.optionalText(7)
      resource.wholeAt = row.optionalText(8)
      resource.missed = row.optionalInteger(9).map { Int($0) }
      resource.hasSince = row.int(10) != 0
      if resource.parent != nil { resource.lists = try lists(of: resource.name, database) }
      return resource
    }
  }

  /// Counts the lists of a child by indexes alone.
  private static func lists(of resource: String, _ database: Database) throws -> DaemonStatus.CachedLists {
    var lists = DaemonStatus.CachedLists()
    let counts = try database.first(
      """
      SELECT (SELECT count(*) FROM main.cache_lists l WHERE l.resource_id = c.id),
        (SELECT s.lists FROM main.sync_resources s WHERE s.resource = c.name AND s.sync_id = \(FixedTables.verified))
      FROM main.cache_resources c WHERE c.name = ?1
      """, .text(resource)
    ) { (total: $0.int(0), requested: $0.int(1)) }
    lists.total = counts?.total ?? 0
    lists.kept = max(0, lists.total - (counts?.requested ?? 0))
    let states = try database.rows(
      """
      SELECT l.state, count(*) FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
      WHERE c.name = ?1 AND l.state <> 'current' GROUP BY l.state
      """, .text(resource)
    ) { ($0.text(0), $0.int(1)) }
    for (state, count) in states {
      if state == "vanished" { lists.vanished = count } else { lists.failed += count }
    }
    return lists
  }

  /// The first failed lists of each child, and the first vanished ones.
  private static func failedLists(
    _ database: Database, of resources: [DaemonStatus.CachedResource]
  ) throws -> [FailedList] {
    let children = resources.filter { $0.lists.map { $0.failed + $0.vanished > 0 } ?? false }
    if children.isEmpty { return [] }
    let family = Family(tables: try Schema(of: database).tables)
    var failed: [FailedList] = []
    for child in children {
      guard let parent = family.tables.firstIndex(where: { $0.resource.name == child.parent }) else { continue }
      let table = family.tables[parent]
      for state in ["failed", "vanished"] {
        failed += try database.rows(
          """
          SELECT \(Family.keys(inPath: family.path(parent, row: "t"))), l.error
          FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
          CROSS JOIN main.\(table.table) t ON t.\(table.id) = l.parent_id
          WHERE c.name = ?1 AND l.state <> 'current' AND l.state = ?2 ORDER BY l.id LIMIT ?3
          """, .text(child.name), .text(state), Value(Diagnosis.maxConcerned)
        ) {
          FailedList(
            of: child.name, parent: table.resource.name, keys: $0.text(0), hasVanished: state == "vanished",
            reason: $0.optionalText(1) ?? "")
        }
      }
    }
    return failed
  }

  private static func emptied(_ database: Database) throws -> [EmptiedResource] {
    try database.rows(
      """
      SELECT s.resource, s.skipped FROM main.sync_resources s JOIN main.resources r ON r.name = s.resource
      WHERE s.sync_id = \(FixedTables.verified) AND s.skipped > 0 AND s.rejected = 0 AND r.records = 0 ORDER BY 1
      """
    ) { EmptiedResource(name: $0.text(0), skipped: $0.int(1)) }
  }
}

extension CacheReader {
  /// The facts that can be reported without a daemon, with the trouble of the last sync.
  package func facts() throws -> CacheFacts {
    try read {
      var facts = try CacheFacts(database)
      if let killed = try unfinished(), killed.outcome == .interrupted { facts.last = killed }
      let trouble = try database.trouble(of: facts.conclusive, TroubleFile(beside: path))
      facts.conclusive?.trouble = trouble
      if facts.last?.id == facts.conclusive?.id { facts.last = facts.conclusive }
      return facts
    }
  }

  /// The first records that could not be stored.
  package func rejected() throws -> [AffectedItem] {
    try read {
      let resources = try Schema(of: database).tables.map(\.resource)
      return try publishedRejects(limit: Diagnosis.maxConcerned).map { reject in
        var reject = reject
        let record = try? JSONValue(json: reject.document.utf8)
        reject.key = resources.first { $0.name == reject.resource }.flatMap { record?.keyText(at: $0.keyPlaces) }
        return reject.concern
      }
    }
  }
}

extension JSONValue {
  /// The key at these places: a value, or the JSON list of several values. nil if a value cannot be a key.
  fileprivate func keyText(at places: [JSONPointer]) -> String? {
    let parts = places.compactMap { self[$0] }.filter { $0.keyText != nil }
    guard parts.count == places.count else { return nil }
    guard parts.count > 1 else { return parts.first?.keyText }
    return JSONWriter(.list(parts)).text
  }

  /// The text of a key; nil if the value cannot be a key.
  fileprivate var keyText: String? {
    switch self {
    case .text(let text), .number(let text): text
    case .null, .boolean, .list, .object: nil
    }
  }
}
