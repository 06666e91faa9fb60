package import FoundationEssentials

/// The status that the cache gives without a daemon. It has the shape of `DaemonStatus`; members that only a daemon
/// knows are null (L4.2).
package struct CacheStatus: Encodable, Sendable, Equatable {
  /// One sentence, which names the socket on which no daemon answers.
  package var message: String
  /// The snapshot that readers see.
  package var cache: DaemonStatus.Cache
  /// The latest sync that ended; nil before there is one.
  package var last: SyncRecord?

  /// Makes a status from its parts.
  package init(message: String, cache: DaemonStatus.Cache, last: SyncRecord?) {
    self.message = message
    self.cache = cache
    self.last = last
  }

  /// Writes every member of `DaemonStatus`.
  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: DaemonStatus.CodingKeys.self)
    for key in DaemonStatus.CodingKeys.allCases {
      switch key {
      case .message: try members.encode(message, forKey: key)
      case .cache: try members.encode(cache, forKey: key)
      case .sync: try members.encode(DaemonStatus.Sync(last: last), forKey: key)
      case .version, .pid, .state, .upstream, .token, .config, .startedAt, .uptimeSeconds:
        try members.encodeNil(forKey: key)
      }
    }
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
