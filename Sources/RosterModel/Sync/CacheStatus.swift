package import FoundationEssentials

/// The status that the cache gives without a daemon. It has the shape of `DaemonStatus`; members that only a daemon
/// knows are null (L4.2).
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
