package import FoundationEssentials
internal import RosterDecode
internal import RosterModel

/// Start times of earlier syncs, which decide what an audit is due for (P15).
package struct AuditHistory: Sendable, Equatable {
  /// Number of syncs that `verified` has at most; more than a resource can have slots.
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
  /// The syncs before the current one.
  package func auditHistory() throws -> AuditHistory {
    try perform("read the history") { database in
      let first = try database.first("SELECT started_at FROM syncs WHERE id = 1") { Date(rfc3339: $0.text(0)) } ?? nil
      let verified = try database.rows(
        """
        SELECT started_at FROM syncs WHERE id < ?1 AND id > ?1 - ?3 AND outcome IN ('published', 'unchanged')
        ORDER BY id DESC LIMIT ?2
        """, .integer(begun), Value(AuditHistory.limit), Value(AuditHistory.limit * Self.failuresPerSuccess)
      ) { Date(rfc3339: $0.text(0)) }
      return AuditHistory(first: first, verified: verified.compactMap { $0 })
    }
  }

  /// Limits the search for older syncs if many have failed.
  private static let failuresPerSuccess = 4

  /// Number of published pages of a resource.
  package func publishedPages(of resource: String) throws -> Int {
    try perform("read the cache") { database in
      guard let list = try ListID(resource, database) else { return 0 }
      return try database.first("SELECT pages FROM cache_lists WHERE id = ?1", .integer(list.id)) { $0.int(0) } ?? 0
    }
  }

  /// Addresses of published pages at these positions in the order of addresses.
  package func addresses(of resource: String, at places: Range<Int>) throws -> [String] {
    try perform("read the cache") { database in
      try database.rows(
        "SELECT address FROM cache_pages WHERE list_id = ?1 ORDER BY address LIMIT ?2 OFFSET ?3",
        Value(try ListID(resource, database)?.id), Value(places.count), Value(places.lowerBound)
      ) { $0.text(0) }
    }
  }

  /// True if the records of a transferred page differ from its stored records (P15.3). The rest of the body does not
  /// matter.
  package func differs(_ page: PageBody) throws -> Bool {
    try performPull("compare a page with its stored records") { database, _ in
      let index = try self.index(of: page.resource)
      guard try hasStoredKeys(page, isText: plans[index].hasTextKeys, database) else { return true }
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

  private func hasStoredKeys(_ page: PageBody, isText: Bool, _ database: Database) throws -> Bool {
    let stored = try database.first(
      """
      SELECT p.keys, p.rejected_keys, p.skipped_keys FROM main.cache_pages p
      WHERE p.list_id = ?1 AND p.address = ?2
      """, Value(try ListID(page.resource, parent: page.parent, database)?.id), .text(page.address)
    ) { [$0.bytes(0), $0.bytes(1), $0.bytes(2)] }
    let scan = page.scan
    guard let stored else { return false }
    return zip(stored, [scan.keys.bytes, scan.rejectedKeys.bytes, scan.skippedKeys.bytes]).allSatisfy { old, new in
      old == new || Set(old.lastKeys(.max, isText: isText)) == Set(new.lastKeys(.max, isText: isText))
    }
  }
}
