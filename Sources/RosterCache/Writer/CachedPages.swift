internal import FoundationEssentials
internal import RosterModel

extension CachedPage {
  /// The entries of the file for one page: its place there, and the note that upstream sent or confirmed it again.
  static let selectEntries = """
    SELECT p.place, s.place, s.at, s.etag, s.last_modified, s.answered FROM (SELECT ?1 AS resource, ?2 AS list, ?3 AS address) a
    LEFT JOIN temp.pulled p USING (resource, list, address) LEFT JOIN temp.seen s USING (resource, list, address)
    """

  /// Takes the note of `selectEntries`, unless it is older than the page's current body or belongs to a guarded pull.
  mutating func came(again entry: Row, guardedBelow: Int64) {
    guard let noted = entry.optionalInteger(1), noted >= guardedBelow, state == .published || noted > place else {
      return
    }
    receivedAt = Date(timeIntervalSince1970: entry.real(2))
    validator = Validator(etag: entry.optionalText(3), lastModified: entry.optionalText(4))
    answered = entry.optionalReal(5).map(Date.init(timeIntervalSince1970:))
    if state == .guarded { state = .kept }
  }

  static let select =
    "SELECT id, etag, last_modified, digest, next, count, last, records, storable, highest, skipped FROM main.cache_pages"

  init(row: Row, _ address: String) {
    state = .published
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
  }

  init(_ facts: PageMetadata, at place: Int64, guardedBelow: Int64) {
    state = place < guardedBelow ? .guarded : .kept
    self.place = place
    address = facts.address
    validator = facts.validator
    digest = facts.digest
    next = facts.next
    count = facts.count
    last = facts.last
    records = facts.records
    storable = facts.storable
    skipped = facts.skipped
    receivedAt = facts.receivedAt
    highest = facts.since?.highest
    answered = facts.since?.answered
  }
}
