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
