/// A resource without records, because `where` passes over every one that upstream lists.
package struct EmptiedResource: Sendable, Equatable {
  /// As `[resource.NAME]` has it.
  package var name: String
  /// Records that were passed over.
  package var skipped: Int

  /// Of the last published or unchanged sync.
  package init(name: String, skipped: Int) {
    self.name = name
    self.skipped = skipped
  }

  /// For an operator: a definition that fits nothing looks like an upstream that has nothing.
  package var complaint: String {
    let records = skipped == 1 ? "the only record" : "all \(skipped) records"
    return "the `where` of \(name) passes over \(records): see that it fits what upstream sends"
  }
}

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
  /// Those whose `where` fits nothing.
  package var emptied: [EmptiedResource]
  /// Of the last sync that published or verified the snapshot: what the next one is likely to take; nil before the
  /// first.
  package var requests: Int?
  /// The last sync that has ended.
  package var last: SyncRecord?
  /// A reader's transaction keeps the log from being written back into the file.
  package var isWALPinned: Bool
  /// The path to which this process has moved a damaged cache; nil if it has moved none.
  package var movedAside: String?

  /// A clause for an operator; nil if no cache was damaged.
  package var damage: String? {
    movedAside.map { "the cache was damaged and was moved to \($0); all is pulled from scratch" }
  }

  /// An empty cache's, unless said otherwise.
  package init(
    feed: String = "", snapshot: Int64? = nil, publishedAt: String? = nil, verifiedAt: String? = nil, records: Int = 0,
    pages: Int = 0, resources: [DaemonStatus.CachedResource] = [], emptied: [EmptiedResource] = [],
    requests: Int? = nil,
    last: SyncRecord? = nil, isWALPinned: Bool = false
  ) {
    self.feed = feed
    self.snapshot = snapshot
    self.publishedAt = publishedAt
    self.verifiedAt = verifiedAt
    self.records = records
    self.pages = pages
    self.resources = resources
    self.emptied = emptied
    self.requests = requests
    self.last = last
    self.isWALPinned = isWALPinned
  }
}
