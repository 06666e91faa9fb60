package import FoundationEssentials

/// A resource without records, because `where` excludes every record that upstream lists.
package struct EmptiedResource: Sendable, Equatable {
  /// Name in `[resource.NAME]`.
  package var name: String
  /// Number of excluded records.
  package var skipped: Int

  /// Makes the description of an emptied resource after the last published or unchanged sync.
  package init(name: String, skipped: Int) {
    self.name = name
    self.skipped = skipped
  }

  /// A message for the operator: a definition that excludes everything looks like an upstream without records.
  package var complaint: String {
    let records = skipped == 1 ? "the only record" : "all \(skipped) records"
    return "the `where` of \(name) passes over \(records): see that it fits what upstream sends"
  }
}

/// A cache that an older version of rosterd made.
package enum OlderCacheFile: Sendable, Equatable {
  /// Readers see it until the first sync has published.
  case read
  /// It was moved to this path.
  case moved(String)

  /// A clause for an operator.
  package var note: String {
    switch self {
    case .read: "readers see the cache of an older rosterd until the first sync has published"
    case .moved(let path):
      "the cache of an older rosterd, with its history, is \(path); if you do not need it: rm \(path)*"
    }
  }
}

/// Facts about the snapshot that readers see.
package struct CacheFacts: Sendable, Equatable {
  /// The value of `cache_info.feed`.
  package var feed: String
  /// `syncs.id` of the sync that published the snapshot; nil before the first one.
  package var snapshot: Int64?
  /// End of that sync, RFC 3339; nil before the first one.
  package var publishedAt: String?
  /// Time of the oldest answer that the last published or unchanged sync used, RFC 3339; nil before the first one.
  package var verifiedAt: String?
  /// Number of records in the snapshot, over all resources.
  package var records: Int
  /// Number of pages in the snapshot, over all resources.
  package var pages: Int
  /// The resources, sorted by name.
  package var resources: [DaemonStatus.CachedResource]
  /// The resources whose `where` excludes every record.
  package var emptied: [EmptiedResource]
  /// The first failed and vanished lists of each child.
  package var failedLists: [FailedList] = []
  /// Number of requests of the last sync that published or verified the snapshot, as an estimate for the next one; nil
  /// before the first one.
  package var requests: Int?
  /// The last sync that has ended; nil before the first one.
  package var last: SyncRecord?
  /// The last sync that was neither cancelled nor killed, which decides the state; nil before the first one.
  package var conclusive: SyncRecord?
  /// True if a reader's transaction prevents SQLite from writing the log back into the database.
  package var isWALPinned: Bool
  /// The path to which a damaged cache was moved, the latest one; nil if there is no such file.
  package var damaged: String?
  /// Resources whose definitions no sync has published yet.
  package var waiting: [String] = []
  /// The cache of an older version; nil without one.
  package var older: OlderCacheFile?

  /// Clauses for an operator about caches that were moved aside, or will be.
  package var notes: [String] {
    let damage = damaged.map {
      "the cache was damaged and was moved to \($0); all is pulled from scratch; remove that file to end this note"
    }
    return [damage, older?.note, definitionNote].compactMap(\.self)
  }

  /// A clause about the definitions that wait for a sync; nil if every definition is published.
  package var definitionNote: String? {
    if waiting.isEmpty { return nil }
    return "readers see the old definition of \(waiting.joined(separator: ", ")) until a sync has published the new one"
  }

  /// The defaults describe an empty cache.
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

/// The status that the cache gives without a daemon. It has the shape of `DaemonStatus`; members that only a daemon
/// knows are null.
package struct CacheStatus: Encodable, Sendable, Equatable {
  /// A clause, which names the socket on which no daemon answers.
  package var silence: String
  /// The snapshot that readers see.
  package var cache: DaemonStatus.Cache
  /// The latest sync that ended; nil before there is one.
  package var last: SyncRecord?
  /// The sync whose row has no end; nil without such a row.
  package var running: SyncRecord?

  /// Makes a status from its parts.
  package init(silence: String, cache: DaemonStatus.Cache, last: SyncRecord?, running: SyncRecord? = nil) {
    self.silence = silence
    self.cache = cache
    self.last = last
    self.running = running
  }

  /// Writes every member of `DaemonStatus` and the sentence.
  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: DaemonStatus.CodingKeys.self)
    for key in DaemonStatus.CodingKeys.allCases { try members.encodeNil(forKey: key) }
    try members.encode(cache, forKey: .cache)
    try members.encode(DaemonStatus.Sync(last: last), forKey: .sync)
    var sentence = encoder.container(keyedBy: StatusDocument.CodingKeys.self)
    try sentence.encode(Headline(self).text, forKey: .message)
    try sentence.encodeNil(forKey: .clauses)
  }
}

extension Headline {
  /// The headline without a daemon.
  package init(_ status: CacheStatus, times: Times = .absolute) {
    let running = status.running.map { ["sync \($0.id) began \(times.past($0.startedAt)) and has not ended"] }
    let expiring = status.last?.trouble.flatMap { $0.kind == .expiringSession ? [$0.what] : nil }
    self.init(without: [
      [status.silence], ["this is what the cache contains"], running, expiring, ["rosterctl explain says why"],
    ])
  }
}

extension DaemonStatus.Cache {
  /// Describes the snapshot of a cache with these file sizes.
  package init(path: String, _ facts: CacheFacts, sizeBytes: Int64, walBytes: Int64, now: Date) {
    self.init(path: path)
    snapshot = facts.snapshot
    publishedAt = facts.publishedAt
    verifiedAt = facts.verifiedAt
    // The age is never negative, since a wall clock may be set back. It has milliseconds.
    ageSeconds = facts.verifiedAt.flatMap(Date.init(rfc3339:)).map {
      max(0, (now.timeIntervalSince($0) * 1000).rounded() / 1000)
    }
    records = facts.records
    pages = facts.pages
    resources = facts.resources
    self.sizeBytes = sizeBytes
    self.walBytes = walBytes
  }
}
