package import FoundationEssentials
package import RosterDecode
package import RosterModel

/// A page that was transferred and scanned, on its way to the pulled pages.
package struct ReceivedPage: Sendable {
  /// `Resource.name`.
  package var resource: String
  /// The page's place in the order of this pull, from 1: what `rejects.page` shows.
  package var number: Int
  /// What the page is known by, from pull to pull: its request's path and query, and its body where it is a POST.
  package var address: String
  /// Where the list goes on, in the words of whoever pulls; nil: this page tells none.
  package var next: String?
  /// What to ask for it conditionally with; empty: upstream gave none.
  package var validator: Validator
  /// When its answer was there.
  package var receivedAt: Date
  /// As it came, decompressed.
  package var body: [UInt8]
  /// Of `body`, by `Cache.digest`.
  package var digest: Int64
  /// Of `body`, by the resource's plan.
  package var scan: PageScan
  /// `Date` of the answer, or the local time without one; nil without `since`.
  package var answered: Date?
  /// The delta token of the page; nil if it has none.
  package var token: String?

  /// A page without a validator that leads nowhere, unless said.
  package init(
    resource: String, number: Int, address: String, next: String? = nil, validator: Validator = Validator(),
    receivedAt: Date, body: [UInt8], digest: Int64, scan: PageScan, answered: Date? = nil,
    token: String? = nil
  ) {
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

/// What the cache has of a page already.
package struct KnownPage: Sendable, Equatable {
  /// Where it is from.
  package enum State: Sendable, Equatable {
    /// Its rows are what readers see.
    case published
    /// Received by a pull that was not published, this one included: it may be asked for conditionally or taken over
    /// (P4).
    case kept
    /// The same, of a pull that the removal guard held back: without a validator it is to be pulled again (P4).
    case guarded
  }

  /// Where it is from.
  package var state: State
  /// As `ReceivedPage.address`.
  package var address: String
  /// Empty: upstream gave none.
  package var validator: Validator
  /// Of the body: one that has the same is, byte for byte, the same.
  package var digest: Int64
  /// Where the list goes on, as `ReceivedPage.next` said.
  package var next: String?
  /// What the page said at the definition's `count`; nil: nothing.
  package var count: Int?
  /// The same at `last`.
  package var last: Int?
  /// Elements of its list, rejected and skipped ones included.
  package var records: Int
  /// Of these, those that can be stored.
  package var storable: Int
  /// The highest value at `since.at`, or the delta token of the page; nil if it has none.
  package var highest: String?
  /// `Date` of the answer that brought a kept page of a resource with `since`.
  package var answered: Date?
  /// By a pull that was not published, this one included; nil: by none.
  package var receivedAt: Date?
  /// In `cache_pages`, or in the file of pulled pages.
  let place: Int64
}

/// A page that is part of this pull as it is known already: upstream says that it is as it was (304), its body
/// is the same byte for byte (P6), or it is taken over from a pull that was broken off (P4).
package struct ConfirmedPage: Sendable {
  /// As `ReceivedPage.number`.
  package var number: Int
  /// What was known of it.
  package var page: KnownPage
  /// What upstream gave in place of the validator that the page was asked for with; empty: the old one holds.
  package var validator: Validator
  /// When it was transferred, though it is as it was; nil: it was not.
  package var receivedAt: Date?

  /// With the validator that it had, and not transferred, unless said.
  package init(number: Int, page: KnownPage, validator: Validator = Validator(), receivedAt: Date? = nil) {
    self.number = number
    self.page = page
    self.validator = validator
    self.receivedAt = receivedAt
  }
}
