/// Which changes somebody asks for (`GET /v1/changes`).
package struct FeedRequest: Sendable, Equatable {
  /// Those with a larger id; 0 or more.
  package var since: Int64
  /// The feed that the id is of; nil: whichever is there.
  package var feed: String?
  /// Of this resource only; nil: of all.
  package var resource: String?
  /// At most so many, 1…1000.
  package var limit: Int

  /// Of all resources, unless one is named.
  package init(since: Int64, feed: String? = nil, resource: String? = nil, limit: Int = 100) {
    self.since = since
    self.feed = feed
    self.resource = resource
    self.limit = limit
  }
}

/// What the feed answers.
package enum FeedAnswer: Sendable, Equatable {
  /// The contract's JSON, `{"feed","changes":[…],"last"}`.
  case page(json: [UInt8], isEmpty: Bool)
  /// Nobody can go on from there: a clause that says why.
  case readAnew(String)
  /// The cache knows no such resource: one sentence.
  case noResource(String)
}
