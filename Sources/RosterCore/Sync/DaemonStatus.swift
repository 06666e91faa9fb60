/// The document of `/v1/status`: rosterd writes it and rosterctl reads it.
package struct DaemonStatus: Codable, Sendable, Equatable {
  /// The daemon's state. docs/STATUS.md says when each one applies.
  package enum State: String, Codable, Sendable, CaseIterable {
    case starting, idle, syncing, degraded, unauthorized, stopping
  }

  /// The member `upstream`.
  package struct Upstream: Codable, Sendable, Equatable {
    /// The value of `upstream.base_url` without a trailing slash.
    package var baseURL: String
    /// End of a pause that upstream asked for, RFC 3339; null if there is no pause.
    @OrNull package var heldUntil: String? = nil
    /// Expected requests per day, from `sync.interval` and the last successful sync, or else the last sync; null before
    /// there is one.
    @OrNull package var requestsPerDay: Int? = nil
    /// null without `limit.budget`.
    @OrNull package var budget: Budget? = nil
    /// null without `upstream.tls.cert_file`.
    @OrNull package var clientCertificate: ClientCertificateEnd? = nil

    /// Makes the member with `base_url` alone.
    package init(baseURL: String) {
      self.baseURL = baseURL
    }

    enum CodingKeys: String, CodingKey {
      case budget
      case clientCertificate = "client_certificate"
      case baseURL = "base_url"
      case heldUntil = "held_until"
      case requestsPerDay = "requests_per_day"
    }
  }

  /// `upstream.client_certificate`.
  package struct ClientCertificateEnd: Codable, Sendable, Equatable {
    /// RFC 3339.
    package var notAfter: String

    /// Any time.
    package init(notAfter: String) {
      self.notAfter = notAfter
    }

    enum CodingKeys: String, CodingKey {
      case notAfter = "not_after"
    }
  }

  /// `limit.budget` and its use.
  package struct Budget: Codable, Sendable, Equatable {
    /// Number of requests allowed per window.
    package var limit: Int
    /// Length of the sliding window.
    package var windowSeconds: Double
    /// Requests in the window that ends now, token requests included.
    package var used: Int

    /// Makes a budget from its numbers.
    package init(limit: Int, windowSeconds: Double, used: Int) {
      self.limit = limit
      self.windowSeconds = windowSeconds
      self.used = used
    }

    enum CodingKeys: String, CodingKey {
      case limit, used
      case windowSeconds = "window_seconds"
    }
  }

  /// The member `cache`: the snapshot that readers see, and the size of its files.
  package struct Cache: Codable, Sendable, Equatable {
    /// Path of the database file itself, even if `cache.path` is a link.
    package var path: String
    /// Id of the sync that published the snapshot; null before there is one.
    @OrNull package var snapshot: Int64? = nil
    /// Time of the publication, RFC 3339; null before there is a snapshot.
    @OrNull package var publishedAt: String? = nil
    /// Time of the oldest answer that the last published or unchanged sync used, RFC 3339; null before there is one.
    @OrNull package var verifiedAt: String? = nil
    /// Time since `verified_at`; null before there is one.
    @OrNull package var ageSeconds: Double? = nil
    /// Number of records in the snapshot, over all resources.
    package var records = 0
    /// Number of pages in the snapshot.
    package var pages = 0
    /// Size of the database file.
    package var sizeBytes: Int64 = 0
    /// Size of the write-ahead log, which grows while a reader keeps a transaction open.
    package var walBytes: Int64 = 0
    /// The resources of the snapshot.
    package var resources: [CachedResource] = []

    enum CodingKeys: String, CodingKey {
      case path, snapshot, records, pages, resources
      case publishedAt = "published_at"
      case verifiedAt = "verified_at"
      case ageSeconds = "age_seconds"
      case sizeBytes = "size_bytes"
      case walBytes = "wal_bytes"
    }
  }

  /// One resource of the snapshot.
  package struct CachedResource: Codable, Sendable, Equatable {
    /// Name in `[resource.NAME]`.
    package var name: String
    /// Name of the table with its records.
    package var table: String
    /// Name of the parent resource (`each.of`); null without `each`.
    @OrNull package var parent: String? = nil
    /// Number of rows in that table.
    package var records: Int
    /// Number of pages in its last complete pull.
    package var pages: Int
    /// Proof that its last pull was complete: `count`, `end`, `since` or `weak`; null before the first pull.
    @OrNull package var proof: String? = nil
    /// Number of records that upstream did not list in the last pull, and that were kept (`twice` and `never`).
    package var absent: Int
    /// `trusted`, also if upstream sends no validators, or `distrusted`.
    package var validators = Self.trusted
    /// Time of the sync that found a false 304, RFC 3339; null while validators are trusted.
    @OrNull package var distrustedSince: String? = nil
    /// When a whole pull was last published or verified; null if every pull is whole.
    @OrNull package var wholeAt: String? = nil
    /// Records that it found and other pulls had missed; null before the second one, and if every pull is whole.
    @OrNull package var missed: Int? = nil
    /// Numbers of its lists, one for each parent record; null without `each`.
    @OrNull package var lists: CachedLists? = nil
    /// Number of its failed lists; 0 without `each`.
    package var failedLists: Int { lists?.failed ?? 0 }
    /// False if the definition has no `since`. The document does not have this.
    package var hasSince = true

    /// The value of `validators` as long as no false 304 was found.
    package static let trusted = "trusted"

    /// Makes the row of a resource with trusted validators.
    package init(name: String, table: String, records: Int, pages: Int, proof: String?, absent: Int) {
      self.name = name
      self.table = table
      self.records = records
      self.pages = pages
      _proof = OrNull(wrappedValue: proof)
      self.absent = absent
    }

    enum CodingKeys: String, CodingKey {
      case name, table, parent, records, pages, proof, absent, validators, missed, lists
      case wholeAt = "whole_at"
      case distrustedSince = "distrusted_since"
    }
  }

  /// The lists of a child, of which each belongs to one parent record.
  package struct CachedLists: Codable, Sendable, Equatable {
    /// Number of lists in the cache.
    package var total = 0
    /// Number of lists that the last published or unchanged sync did not request.
    package var kept = 0
    /// Number of failed lists, which have the records of an earlier sync.
    package var failed = 0
    /// Number of lists whose parent disappeared in the meantime.
    package var vanished = 0

    /// No list.
    package init() {}

    /// Number of lists that are neither failed nor vanished.
    package var current: Int { total - failed - vanished }
    /// Number of lists that the last published or unchanged sync requested.
    package var requested: Int { total - kept }
  }

  /// Progress of the pull of one resource.
  package struct PulledResource: Codable, Sendable, Equatable {
    /// The kinds of pulls.
    package enum Kind: String, Codable, Sendable, CaseIterable {
      case whole
      /// The records that changed since the mark, or since the delta token.
      case since
      /// A list for each record of another resource.
      case each
    }

    /// Name in `[resource.NAME]`.
    package let name: String
    /// Kind of the current pull.
    package var kind = Kind.whole
    /// Number of pages that arrived, were unchanged, or were reused.
    package var pagesDone = 0
    /// Total number of pages; null while no answer says it.
    @OrNull package var pagesTotal: Int? = nil
    /// Number of records on those pages.
    package var records = 0
    /// Number of lists that were pulled, failed or need no request; null unless each parent has a list.
    @OrNull package var listsDone: Int? = nil
    /// Number of lists that this sync requests; null unless each parent has a list.
    @OrNull package var listsTotal: Int? = nil

    enum CodingKeys: String, CodingKey {
      case name, kind, records
      case listsDone = "lists_done"
      case listsTotal = "lists_total"
      case pagesDone = "pages_done"
      case pagesTotal = "pages_total"
    }
  }

  /// Progress of the lists of all children.
  package struct ListProgress: Sendable, Equatable {
    /// Number of lists that were pulled, failed or need no request.
    package var done = 0
    /// Number of lists that the sync requests, as far as their parents are known.
    package var total = 0
  }

  /// `sync.current`: the running sync. Pages and records count from the start of the current pull, the other numbers
  /// over all pulls of the sync.
  package struct Current: Codable, Sendable, Equatable {
    /// The phases of a sync.
    package enum Phase: String, Codable, Sendable { case discovering, pulling, verifying, publishing }

    /// Id in `syncs`.
    package var id: Int64
    /// Start time, RFC 3339.
    package var startedAt: String
    /// Current phase.
    package var phase: Phase
    /// True if everything is transferred again.
    package var fresh = false
    /// Number of pages that arrived, were unchanged, or were reused.
    package var pagesDone = 0
    /// Total number of pages according to upstream; null while no answer says it.
    @OrNull package var pagesTotal: Int? = nil
    /// Number of records on those pages.
    package var records = 0
    /// Number of requested pages without an answer, including those that wait for a retry or a token.
    package var inFlight = 0
    /// Number of requests: every attempt and every redirect hop.
    package var requests = 0
    /// Number of retries, without those after a 401.
    package var retries = 0
    /// Number of successful token requests.
    package var refreshes = 0
    /// Number of body bytes as received.
    package var bytes = 0
    /// Progress of each resource.
    package var resources: [PulledResource] = []
    /// Progress of the lists of all children; nil before the first list.
    package var lists: ListProgress? {
      let begun = resources.filter { $0.listsTotal ?? 0 > 0 }
      if begun.isEmpty { return nil }
      return begun.reduce(into: ListProgress()) { sum, resource in
        sum.done += resource.listsDone ?? 0
        sum.total += resource.listsTotal ?? 0
      }
    }

    /// Number of lists of children, or else of pages, for people: `12 of 30 lists`.
    package var progressText: String {
      let pages = pagesTotal.map { "\(pagesDone) of \($0.counted(as: "page"))" } ?? pagesDone.counted(as: "page")
      return lists.map { "\($0.done) of \($0.total.counted(as: "list"))" } ?? pages
    }

    enum CodingKeys: String, CodingKey {
      case id, phase, fresh, records, requests, retries, refreshes, bytes, resources
      case startedAt = "started_at"
      case pagesDone = "pages_done"
      case pagesTotal = "pages_total"
      case inFlight = "in_flight"
    }
  }

  /// The member `sync`: the running sync, the last one, and the start of the next one.
  package struct Sync: Codable, Sendable, Equatable {
    /// null between syncs.
    @OrNull package var current: Current? = nil
    /// The latest sync that has ended; null before there is one.
    @OrNull package var last: SyncRecord? = nil
    /// Start of the next sync, RFC 3339; null if none is planned.
    @OrNull package var nextAt: String? = nil
    /// The key of the configuration that postpones the next sync, which is `limit.budget`; null if none does.
    @OrNull package var heldBy: String? = nil
    /// The time since which a running or due sync has made no progress, RFC 3339; null if it makes progress.
    @OrNull package var stalledSince: String? = nil

    /// All members are null by default.
    package init(current: Current? = nil, last: SyncRecord? = nil, nextAt: String? = nil) {
      _current = OrNull(wrappedValue: current)
      _last = OrNull(wrappedValue: last)
      _nextAt = OrNull(wrappedValue: nextAt)
    }

    enum CodingKeys: String, CodingKey {
      case current, last
      case nextAt = "next_at"
      case heldBy = "held_by"
      case stalledSince = "stalled_since"
    }
  }

  /// The member `config`: the configuration in use, and the error of the last rejected reload.
  package struct Config: Codable, Sendable, Equatable {
    /// Path of the file; null if the defaults apply because there is no file.
    @OrNull package var path: String? = nil
    /// Time at which the configuration in use was read, RFC 3339.
    package var loadedAt: String
    /// Reason why the last reload was rejected; null after a successful reload.
    @OrNull package var lastError: String? = nil

    /// Makes the member without an error.
    package init(path: String?, loadedAt: String) {
      _path = OrNull(wrappedValue: path)
      self.loadedAt = loadedAt
    }

    enum CodingKeys: String, CodingKey {
      case path
      case loadedAt = "loaded_at"
      case lastError = "last_error"
    }
  }

  /// Version of the program, such as 0.2.0.
  package var version: String
  /// Process id of the daemon.
  package var pid: Int32
  /// Start time of the daemon, RFC 3339.
  package var startedAt: String
  /// Time since `started_at`.
  package var uptimeSeconds: Double
  /// The first state whose condition is true.
  package var state: State
  /// The beginning of the trouble, RFC 3339, as in an explanation; null without trouble.
  @OrNull package var since: String? = nil
  /// The trouble that explains the state; null without trouble.
  @OrNull package var reason: String? = nil
  /// Further facts for an operator, each a clause.
  package var notes: [String] = []
  /// The source of the pages.
  package var upstream: Upstream
  /// The snapshot that readers see.
  package var cache: Cache
  /// The running sync, the last one, and the start of the next one.
  package var sync: Sync
  /// The access token of `auth.flow`.
  package var token: TokenStatus
  /// The configuration in use.
  package var config: Config

  /// Makes the document.
  package init(
    version: String, pid: Int32, startedAt: String, uptimeSeconds: Double, state: State, reason: String? = nil,
    upstream: Upstream, cache: Cache, sync: Sync, token: TokenStatus, config: Config
  ) {
    self.version = version
    self.pid = pid
    self.startedAt = startedAt
    self.uptimeSeconds = uptimeSeconds
    self.state = state
    _reason = OrNull(wrappedValue: reason)
    self.upstream = upstream
    self.cache = cache
    self.sync = sync
    self.token = token
    self.config = config
  }

  enum CodingKeys: String, CodingKey, CaseIterable {
    case version, pid, state, since, reason, notes, upstream, cache, sync, token, config
    case startedAt = "started_at"
    case uptimeSeconds = "uptime_seconds"
  }
}

/// The member `token` of `/v1/status`, without any secret.
package struct TokenStatus: Codable, Sendable, Equatable {
  /// State of the access token; `none` if no token exists, or no token is needed.
  package enum State: String, Codable, Sendable {
    case none, valid, expired, refreshing, unauthorized
  }

  /// The value of `auth.flow`.
  package var flow: String
  /// State of the current access token.
  package var state: State
  /// Time of expiry, RFC 3339; null if unknown.
  @OrNull package var expiresAt: String? = nil
  /// Number of successful token requests since the daemon started.
  package var refreshes = 0
  /// Number of requests that shared a refresh which another request had started.
  package var joined = 0
  /// Number of late 401s that needed no refresh, because the token was already newer.
  package var avoided = 0
  /// Time of the last successful token request, RFC 3339; null before there is one.
  @OrNull package var lastRefreshAt: String? = nil
  /// Error of the last token request; null if it succeeded.
  @OrNull package var lastError: String? = nil

  /// Makes the status before the first token request.
  package init(flow: String, state: State = .none) {
    self.flow = flow
    self.state = state
  }

  enum CodingKeys: String, CodingKey {
    case flow, state, refreshes, joined, avoided
    case expiresAt = "expires_at"
    case lastRefreshAt = "last_refresh_at"
    case lastError = "last_error"
  }
}

extension DaemonStatus.State {
  /// The state between two syncs. Failed lists degrade it until a later sync has pulled them, also if that sync was
  /// cancelled.
  /// - Parameter last: The last conclusive sync; without one, the last sync.
  package init(after last: SyncRecord?, resources: [DaemonStatus.CachedResource]) {
    if last?.exit == Failure.Kind.refused.exitCode {
      self = .unauthorized
    } else if let last {
      self = last.isDegraded || resources.contains { $0.failedLists > 0 } ? .degraded : .idle
    } else {
      self = .starting
    }
  }
}
