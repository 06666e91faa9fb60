internal import FoundationEssentials
internal import RosterModel

/// The entries for one page in the file of pulled pages.
struct KeptPage {
  /// Place of the page in the file; nil if only the published page is known.
  var place: Int64?
  var seen: SeenPage?
}

/// A note that upstream sent or confirmed a page without a change.
struct SeenPage {
  /// Place of the note in the file.
  var place: Int64
  var at: Date
  var validator: Validator
}

extension CachedPage {
  /// Ignores a note that is older than the page's current body, or that belongs to a guarded pull.
  mutating func came(again seen: SeenPage, guardedBelow: Int64) {
    guard seen.place >= guardedBelow, state == .published || seen.place > place else { return }
    receivedAt = seen.at
    validator = seen.validator
    answered = nil
    if state == .guarded { state = .kept }
  }

  static let select =
    "SELECT id, etag, last_modified, digest, next, count, last, records, storable, highest FROM main.cache_pages"

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
  }

  init(_ facts: PageMetadata, _ place: Int64, guardedBelow: Int64) {
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
    receivedAt = facts.receivedAt
    highest = facts.since?.highest
    answered = facts.since?.answered
  }
}
