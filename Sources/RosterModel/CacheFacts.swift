/// What is to be told of the snapshot that readers see.
package struct CacheFacts: Sendable, Equatable {
  /// As `cache_info.feed`.
  package var feed: String
  /// `syncs.id` of the sync that published what is there; nil before the first.
  package var snapshot: Int64?
  /// When that sync ended, RFC 3339; nil before the first.
  package var publishedAt: String?
  /// End of the last published or unchanged sync.
  package var verifiedAt: String?
  /// Of the snapshot, of all resources.
  package var records: Int
  /// Of the snapshot, of all resources.
  package var pages: Int
  /// In the order of their names.
  package var resources: [DaemonStatus.CachedResource]
  /// Of the last sync that published or verified the snapshot: what the next one is likely to take; nil before the first.
  package var requests: Int?
  /// The last sync that has ended.
  package var last: SyncRecord?
  /// A reader's transaction keeps the log from being written back into the file.
  package var isWALPinned: Bool

  /// An empty cache's, unless said otherwise.
  package init(
    feed: String = "", snapshot: Int64? = nil, publishedAt: String? = nil, verifiedAt: String? = nil, records: Int = 0,
    pages: Int = 0, resources: [DaemonStatus.CachedResource] = [], requests: Int? = nil, last: SyncRecord? = nil,
    isWALPinned: Bool = false
  ) {
    self.feed = feed
    self.snapshot = snapshot
    self.publishedAt = publishedAt
    self.verifiedAt = verifiedAt
    self.records = records
    self.pages = pages
    self.resources = resources
    self.requests = requests
    self.last = last
    self.isWALPinned = isWALPinned
  }
}
