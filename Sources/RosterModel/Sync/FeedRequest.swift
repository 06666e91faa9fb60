/// The query of `GET /v1/changes`.
package struct FeedRequest: Sendable, Equatable {
  /// Only changes with a larger id; 0 or more.
  package var since: Int64
  /// The feed of that id; nil for the current feed.
  package var feed: String?
  /// Only changes of this resource; nil for all.
  package var resource: String?
  /// Maximum number of changes, 1 to 1000.
  package var limit: Int

  /// Asks for all resources by default.
  package init(since: Int64, feed: String? = nil, resource: String? = nil, limit: Int = 100) {
    self.since = since
    self.feed = feed
    self.resource = resource
    self.limit = limit
  }
}

/// The answers to a query of changes.
package enum FeedAnswer: Sendable, Equatable {
  /// The contract's JSON, `{"feed","changes":[…],"last"}`.
  case page(json: [UInt8], isEmpty: Bool)
  /// The reader must start from scratch: a clause that gives the reason.
  case readAnew(String)
  /// The cache has no such resource: one sentence.
  case noResource(String)
}
