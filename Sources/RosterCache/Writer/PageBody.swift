package import FoundationEssentials
package import RosterDecode
package import RosterModel

/// A page that was transferred and scanned, and is not stored yet.
package struct PageBody: Sendable {
  /// `Resource.name`.
  package var resource: String
  /// The list of a child; the only list of a resource by default.
  package var place = ListPlace()
  /// The page's position in this pull, from 1, which `rejects.page` shows.
  package var number: Int
  /// Identifies the page from pull to pull: its request's path and query, and its body for a POST.
  package var address: String
  /// The position where the list continues, as the caller encodes it; nil if the page does not say.
  package var next: String?
  /// The validator for the next conditional request; empty if the server sent no validator.
  package var validator: Validator
  /// The time at which the answer was complete.
  package var receivedAt: Date
  /// The body, decompressed and otherwise unchanged.
  package var body: [UInt8]
  /// The digest of `body` by `Cache.digest`.
  package var digest: Int64
  /// The scan of `body` by the resource's plan.
  package var scan: PageScan
  /// `Date` of the answer, or the local time without one; nil without `since`.
  package var answered: Date?
  /// The delta token of the page; nil if it has none.
  package var token: String?

  /// Unless arguments say otherwise, the page has no validator, and the list does not continue after it.
  package init(
    resource: String, number: Int, address: String, next: String? = nil, validator: Validator = Validator(),
    receivedAt: Date, body: [UInt8], digest: Int64, scan: PageScan, answered: Date? = nil,
    token: String? = nil, place: ListPlace = ListPlace()
  ) {
    self.place = place
    self.resource = resource
    self.number = number
    self.address = address
    self.next = next
    self.validator = validator
    self.receivedAt = receivedAt
    self.body = body
    self.digest = digest
    self.scan = scan
    self.answered = answered
    self.token = token
  }
}

/// Identifies a list in a pull.
package struct ListPlace: Sendable, Hashable {
  /// Number of the list in this process; 0 for the only list of a resource.
  package var number: Int64 = 0
  /// JSON list of the keys of its ancestors, outermost first; empty for the only list of a resource.
  package var path = ""
  /// Record id of the parent; 0 for the only list of a resource.
  package var parent: Int64 = 0

  /// The only list of a resource.
  package init() {}

  /// The list of one parent.
  package init(number: Int64, path: String, parent: Int64) {
    (self.number, self.path, self.parent) = (number, path, parent)
  }
}

extension PageBody {
  var list: String { place.path }
  var parent: Int64 { place.parent }
}

/// The facts of a page that the cache already has.
package struct CachedPage: Sendable, Equatable {
  /// The origin of these facts.
  package enum State: Sendable, Equatable {
    /// The rows of this page are published.
    case published
    /// The page was received by a pull that was not published, possibly this one. It may be requested conditionally or
    /// reused (P4).
    case kept
    /// As `kept`, but the removal guard stopped that pull: a page without a validator must be pulled again (P4).
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
  /// Its id in `cache_pages`, or its place in the file of pulled pages.
  package let place: Int64
}

/// A known page that is part of this pull. Upstream says that it is unchanged (304), its body is the same byte for byte
/// (P6), or it is reused from an interrupted pull (P4).
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
