package import FoundationEssentials
package import RosterCore
internal import RosterDecode

/// The facts of a page that the cache already has.
package struct CachedPage: Sendable, Equatable {
  /// The origin of these facts.
  package enum State: Sendable, Equatable {
    /// The rows of this page are published.
    case published
    /// The page was received by a pull that was not published, possibly this one. It may be requested conditionally or
    /// reused.
    case kept
    /// As `kept`, but the removal guard or a dry run ended that pull: upstream must confirm the page, or it is pulled
    /// again.
    case guarded
  }

  /// The origin of these facts.
  package var state: State
  /// Identifies the page like `PageBody.address`.
  package var address: String
  /// Empty if the server sent no validator.
  package var validator: Validator
  /// Digest of the body. Equal digests mean equal bytes.
  package var digest: Int64
  /// The position where the list continues, as in `PageBody.next`.
  package var next: String?
  /// The value at the definition's `count`; nil if the page has no such value.
  package var count: Int?
  /// The value at the definition's `last`; nil if the page has no such value.
  package var last: Int?
  /// Elements of its list, rejected and skipped ones included.
  package var records: Int
  /// Number of these records that can be stored.
  package var storable: Int
  /// Number of these records that `where` skips.
  package var skipped: Int
  /// The highest value at `since.at`, or the delta token of the page; nil if it has none.
  package var highest: String?
  /// `Date` of the answer that brought a kept page of a resource with `since`.
  package var answered: Date?
  /// The time at which an unpublished pull received the page, possibly this one; nil for a published page.
  package var receivedAt: Date?
  /// Its id in `cache_pages`, or its place in `next`.
  package let place: Int64
}

/// A known page that is part of this pull. Upstream says that it is unchanged (304), its body is the same byte for
/// byte,
/// or it is reused from an interrupted pull.
package struct ConfirmedPage: Sendable {
  /// Position of the page, as in `PageBody.number`.
  package var number: Int
  /// The known facts of the page.
  package var page: CachedPage
  /// The new validator that upstream sent; empty if the old one is still valid.
  package var validator: Validator
  /// The time at which the unchanged page was transferred; nil if it was not transferred.
  package var receivedAt: Date?
  /// The time at which upstream confirmed the page (304); nil if it was not requested, or was transferred.
  package var confirmedAt: Date?
  /// `Date` of the answer that confirmed the page; nil if it was not requested.
  package var answered: Date?

  /// Without further arguments, the page keeps its validator and was not requested.
  package init(
    number: Int, page: CachedPage, validator: Validator = Validator(), receivedAt: Date? = nil,
    confirmedAt: Date? = nil, answered: Date? = nil
  ) {
    self.number = number
    self.page = page
    self.validator = validator
    self.receivedAt = receivedAt
    self.confirmedAt = confirmedAt
    self.answered = answered
  }
}

extension CachedPage {
  /// The rows of `next` for one page: its place there, and the note that upstream sent or confirmed it again.
  static let selectEntries = """
    SELECT p.place, p.is_guarded, s.question, s.is_guarded, s.at, s.etag, s.last_modified, s.answered
    FROM (SELECT ?1 AS resource, ?2 AS list, ?3 AS address) a
    LEFT JOIN next.page p USING (resource, list, address) LEFT JOIN next.seen s USING (resource, list, address)
    """

  /// Takes the note of `selectEntries`. In a note of a guarded pull or of a dry run only the validator counts, so that
  /// the page is requested again.
  mutating func came(again entry: Row) {
    validator = Validator(etag: entry.optionalText(5), lastModified: entry.optionalText(6))
    if entry.int(3) != 0 { return }
    receivedAt = entry.date(4)
    answered = entry.optionalDate(7)
    if state == .guarded { state = .kept }
  }

  private static let columns =
    "etag, last_modified, digest, next, count, last, records, storable, highest, skipped"
  /// The published page of list ?1 at address ?2.
  static let selectPublished = "SELECT id, \(columns) FROM main.cache_pages WHERE list_id = ?1 AND address = ?2"
  /// The page of `next` at place ?1, if it was read by question ?2.
  static let selectKept =
    "SELECT place, \(columns), received, answered FROM next.page WHERE place = ?1 AND coalesce(question, 0) = ?2"

  /// - Parameter row: of `selectPublished`, otherwise of `selectKept`.
  init(row: Row, _ address: String, state: State = .published) {
    self.state = state
    place = row.integer(0)
    self.address = address
    validator = Validator(etag: row.optionalText(1), lastModified: row.optionalText(2))
    digest = row.integer(3)
    next = row.optionalText(4)
    count = row.optionalInteger(5).map { Int($0) }
    last = row.optionalInteger(6).map { Int($0) }
    records = row.int(7)
    storable = row.int(8)
    highest = row.optionalText(9)
    skipped = row.int(10)
    if state != .published { (receivedAt, answered) = (row.date(11), row.optionalDate(12)) }
  }
}

/// Facts of the cache for the audit of validators.
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

  /// Time of the last whole pull of a resource with one list. If it is not noted, or the resource is a child, the time
  /// of the last published or unchanged sync. nil without one.
  package func lastWholePull(of resource: String) throws -> Date? {
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

  /// True if the records of a transferred page differ from its stored records. The rest of the body does not
  /// matter.
  package func differs(_ page: PageBody) throws -> Bool {
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
