package import FoundationEssentials
internal import RosterDecode
internal import RosterModel

/// Start times of earlier syncs, which decide which pages are due for an audit (P15).
package struct AuditHistory: Sendable, Equatable {
  /// Largest number of syncs in `verified`. No resource has as many slots (`AuditSchedule`).
  package static let limit = 200

  /// The first sync of the cache; nil if `cache.history` has ended it.
  package var first: Date?
  /// The last published or unchanged syncs, the latest first.
  package var verified: [Date]

  /// A history of these syncs.
  package init(first: Date?, verified: [Date]) {
    self.first = first
    self.verified = Array(verified.prefix(Self.limit))
  }
}

/// Facts of the cache for the audit of validators (P15).
extension Cache {
  func auditHistory() throws -> AuditHistory {
    try perform("read the history") { database in
      let first =
        try database.first("SELECT started_at FROM main.syncs WHERE id = 1") { Date(rfc3339: $0.text(0)) } ?? nil
      let verified = try database.rows(
        """
        SELECT started_at FROM main.syncs WHERE id < ?1 AND id > ?1 - ?3 AND outcome IN ('published', 'unchanged')
        ORDER BY id DESC LIMIT ?2
        """, .integer(begun), Value(AuditHistory.limit), Value(AuditHistory.limit * Self.failuresPerSuccess)
      ) { Date(rfc3339: $0.text(0)) }
      return AuditHistory(first: first, verified: verified.compactMap { $0 })
    }
  }

  /// Limits the search for older syncs if many have failed.
  private static let failuresPerSuccess = 4

  func publishedPages(of resource: String) throws -> Int {
    try perform("read the cache") { database in
      try database.count("SELECT pages FROM main.resources WHERE name = ?1", .text(resource))
    }
  }

  func pages(of resource: String, at places: Range<Int>) throws -> Set<Int64> {
    try perform("read the cache") { database in
      Set(
        try database.rows(
          Self.selectPages, .text(resource), Value(places.count), Value(places.lowerBound),
          .text(Resource.incrementalPrefix)
        ) { $0.integer(0) })
    }
  }

  static let selectPages = """
    SELECT p.id FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
    CROSS JOIN main.cache_pages p ON p.list_id = l.id WHERE c.name = ?1 AND substr(p.address, 1, length(?4)) <> ?4
    ORDER BY l.parent_id, p.address LIMIT ?2 OFFSET ?3
    """

  func pagesToAudit(of resource: String, every period: Duration, at now: Date) throws -> Set<Int64> {
    try performPull("choose the pages to audit") { database, _ in
      let limit = max(1, try publishedPages(of: resource) / 100)
      return Set(
        try database.rows(
          Self.selectDue, Value(try index(of: resource)), .text(resource), Value(limit),
          .real(max(period.seconds, 1)), Value(now), .integer(begun)
        ) { $0.integer(0) })
    }
  }

  /// Parameters: ?1 the resource, ?2 its name, ?3 the number of pages, ?4 the period, ?5 the time, ?6 the sync.
  static let selectDue = """
    SELECT d.id FROM (
      SELECT p.id AS id, row_number() OVER (ORDER BY l.parent_id, p.id) - 1 AS place, count(*) OVER () AS total
      FROM temp.lists w CROSS JOIN main.cache_resources c ON c.name = ?2
      CROSS JOIN main.cache_lists l ON l.resource_id = c.id AND l.parent_id = w.parent
      CROSS JOIN main.cache_pages p ON p.list_id = l.id
      WHERE w.resource = ?1 AND w.state = \(ParentTables.State.wanted.rawValue) AND w.start IS NULL AND p.kind <> 1
        AND (p.etag IS NOT NULL OR p.last_modified IS NOT NULL)
        AND CAST((?5 + \(phase)) / ?4 AS INTEGER) > CAST((unixepoch(l.whole_at) + \(phase)) / ?4 AS INTEGER)) d
    WHERE d.place / ?3 = ?6 % ((d.total + ?3 - 1) / ?3)
    """

  /// Multiples of the golden ratio spread ids that follow one another evenly.
  private static let phase = "(l.parent_id * 40503) % 65521 / 65521.0 * ?4"

  func differs(_ page: PageBody) throws -> Bool {
    try performPull("compare a page with its stored records") { database, _ in
      let index = try self.index(of: page.resource)
      guard try hasStoredKeys(page, isText: plans[index].hasTextKeys, in: database) else { return true }
      let stored = try StoredRecords(database, schema.tables[index])
      var decoder = RecordDecoder(plans[index])
      return try page.body.withUnsafeBufferPointer { body in
        try decoder.begin(body, at: page.scan.recordsAt)
        while let step = try decoder.next() {
          guard case .record = step else { continue }
          guard case .same = try stored.standing(of: &decoder, below: page.parent) else { return true }
        }
        return false
      }
    }
  }

  private func hasStoredKeys(_ page: PageBody, isText: Bool, in database: Database) throws -> Bool {
    let stored = try database.first(
      """
      SELECT p.keys, p.rejected_keys, p.skipped_keys FROM main.cache_pages p
      WHERE p.list_id = ?1 AND p.address = ?2
      """, Value(try ListID(page.resource, parent: page.parent, in: database)?.id), .text(page.address)
    ) { [$0.bytes(0), $0.bytes(1), $0.bytes(2)] }
    let scan = page.scan
    guard let stored else { return false }
    return zip(stored, [scan.keys.bytes, scan.rejectedKeys.bytes, scan.skippedKeys.bytes]).allSatisfy { old, new in
      old == new || Set(old.lastKeys(.max, isText: isText)) == Set(new.lastKeys(.max, isText: isText))
    }
  }
}
