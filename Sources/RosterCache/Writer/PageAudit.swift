internal import FoundationEssentials
internal import RosterDecode
internal import RosterModel

/// Facts of the cache for the audit of validators (P15).
extension Cache {
  /// True if a published page of the resource leads to another one by a value of its answer.
  package func hasNextValue(of resource: String) throws -> Bool {
    try perform("read the pages") { database in
      try database.first(
        """
        SELECT 1 FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
        CROSS JOIN main.cache_pages p ON p.list_id = l.id WHERE c.name = ?1 AND p.next IS NOT NULL LIMIT 1
        """, .text(resource)
      ) { _ in true } ?? false
    }
  }

  func lastWholePull(of resource: String) throws -> Date? {
    try perform("read the history") { database in
      try database.first(
        """
        SELECT coalesce((SELECT l.whole_at FROM main.cache_resources c CROSS JOIN main.cache_lists l
          ON l.resource_id = c.id AND l.parent_id = 0 WHERE c.name = ?1),
          (SELECT started_at FROM main.syncs WHERE id = \(FixedTables.verified)))
        """, .text(resource)
      ) { $0.optionalText(0).flatMap { Date(rfc3339: $0) } } ?? nil
    }
  }

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
