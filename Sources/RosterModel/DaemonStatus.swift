/// The document of `/v1/status`: what rosterd answers and rosterctl reads.
package struct DaemonStatus: Codable, Sendable, Equatable {
  /// Section 6 of docs/CONTRACT.md says which one holds.
  package enum State: String, Codable, Sendable, CaseIterable {
    case starting, idle, syncing, degraded, unauthorized, stopping
  }

  /// `upstream`.
  package struct Upstream: Codable, Sendable, Equatable {
    /// As `upstream.base_url` has it, without a trailing slash.
    package var baseURL: String
    /// It wants no request before, RFC 3339 (P11); null while it takes them.
    @OrNull package var heldUntil: String?
    /// What the last sync that went well, or else the last one, and `sync.interval` come to; null before there is one.
    @OrNull package var requestsPerDay: Int?
    /// null without `limit.budget`.
    @OrNull package var budget: Budget?
    /// null without `upstream.tls.cert_file`.
    @OrNull package var clientCertificate: ClientCertificateEnd?

    /// `base_url` alone.
    package init(baseURL: String) {
      self.baseURL = baseURL
      _heldUntil = OrNull(wrappedValue: nil)
      _requestsPerDay = OrNull(wrappedValue: nil)
      _budget = OrNull(wrappedValue: nil)
      _clientCertificate = OrNull(wrappedValue: nil)
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

  /// `limit.budget`, and what of it is used.
  package struct Budget: Codable, Sendable, Equatable {
    /// Requests.
    package var limit: Int
    /// In any such time.
    package var windowSeconds: Double
    /// Requests of the window that ends now, token requests included.
    package var used: Int

    /// Any numbers.
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

  /// `cache`: the snapshot that readers see, and what its file takes.
  package struct Cache: Codable, Sendable, Equatable {
    /// Of the database itself, where `cache.path` is a link.
    package var path: String
    /// The sync that published it; null before there is one.
    @OrNull package var snapshot: Int64?
    /// RFC 3339; null before there is a snapshot.
    @OrNull package var publishedAt: String?
    /// The end of the last published or unchanged sync, RFC 3339; null before there is one.
    @OrNull package var verifiedAt: String?
    /// Counts from `verified_at`.
    @OrNull package var ageSeconds: Double?
    /// Of the snapshot, of all resources.
    package var records = 0
    /// Of the snapshot.
    package var pages = 0
    /// Of the database file.
    package var sizeBytes: Int64 = 0
    /// Of its write-ahead log, which grows while a reader keeps a transaction open.
    package var walBytes: Int64 = 0
    /// Of the snapshot.
    package var resources: [CachedResource] = []

    /// Without a snapshot.
    package init(path: String) {
      self.path = path
      _snapshot = OrNull(wrappedValue: nil)
      _publishedAt = OrNull(wrappedValue: nil)
      _verifiedAt = OrNull(wrappedValue: nil)
      _ageSeconds = OrNull(wrappedValue: nil)
    }

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
    /// As `[resource.NAME]` has it.
    package var name: String
    /// Where its records are in the cache.
    package var table: String
    /// Rows of that table.
    package var records: Int
    /// Of its last whole pull.
    package var pages: Int
    /// What proves that its last pull was whole (P7): `count`, `end` or `weak`; null before there is one.
    @OrNull package var proof: String?
    /// Records that upstream did not list the last time (P8, `twice` and `never`).
    package var absent: Int
    /// `trusted`, also if upstream sends none, or `distrusted` (P15).
    package var validators = Self.trusted
    /// Time of the sync that found the lie, RFC 3339; null while they are trusted.
    @OrNull package var distrustedSince: String?

    /// The value of `validators` while no lie was found.
    package static let trusted = "trusted"

    /// A row of the table `resources`, with trusted validators.
    package init(name: String, table: String, records: Int, pages: Int, proof: String?, absent: Int) {
      self.name = name
      self.table = table
      self.records = records
      self.pages = pages
      _proof = OrNull(wrappedValue: proof)
      self.absent = absent
      _distrustedSince = OrNull(wrappedValue: nil)
    }

    enum CodingKeys: String, CodingKey {
      case name, table, records, pages, proof, absent, validators
      case distrustedSince = "distrusted_since"
    }
  }

  /// How far the pull of one resource is.
  package struct PulledResource: Codable, Sendable, Equatable {
    /// As `[resource.NAME]` has it.
    package let name: String
    /// Pages that arrived, were unchanged, or were taken over.
    package var pagesDone = 0
    /// null while no answer tells.
    @OrNull package var pagesTotal: Int?
    /// On the pages that are done.
    package var records = 0

    /// Not begun.
    package init(name: String) {
      self.name = name
      _pagesTotal = OrNull(wrappedValue: nil)
    }

    enum CodingKeys: String, CodingKey {
      case name, records
      case pagesDone = "pages_done"
      case pagesTotal = "pages_total"
    }
  }

  /// `sync.current`: the sync that runs. Pages and records count from the start of the current pull, the rest over
  /// all pulls (P7).
  package struct Current: Codable, Sendable, Equatable {
    /// How far it is.
    package enum Phase: String, Codable, Sendable { case discovering, pulling, verifying, publishing }

    /// Its id in `syncs`.
    package var id: Int64
    /// RFC 3339.
    package var startedAt: String
    /// How far it is now.
    package var phase: Phase
    /// True if everything is transferred again (L1).
    package var fresh = false
    /// Pages that arrived, were unchanged, or were taken over.
    package var pagesDone = 0
    /// As upstream told it; null while no answer tells.
    @OrNull package var pagesTotal: Int?
    /// On the pages that are done.
    package var records = 0
    /// Pages that are asked for, be it that they wait for a retry or a token.
    package var inFlight = 0
    /// Every attempt and redirect hop.
    package var requests = 0
    /// Repeats by P11 except those for 401.
    package var retries = 0
    /// Token requests that succeeded.
    package var refreshes = 0
    /// Body bytes as received.
    package var bytes = 0
    /// Each of them.
    package var resources: [PulledResource] = []

    /// With nothing done yet.
    package init(id: Int64, startedAt: String, phase: Phase) {
      self.id = id
      self.startedAt = startedAt
      self.phase = phase
      _pagesTotal = OrNull(wrappedValue: nil)
    }

    enum CodingKeys: String, CodingKey {
      case id, phase, fresh, records, requests, retries, refreshes, bytes, resources
      case startedAt = "started_at"
      case pagesDone = "pages_done"
      case pagesTotal = "pages_total"
      case inFlight = "in_flight"
    }
  }

  /// `sync`: what runs, what ran last, what runs next.
  package struct Sync: Codable, Sendable, Equatable {
    /// null between syncs.
    @OrNull package var current: Current?
    /// The latest that ended; null before there is one.
    @OrNull package var last: SyncRecord?
    /// When the next one starts, RFC 3339; null while none is planned.
    @OrNull package var nextAt: String?

    /// Each null unless given.
    package init(current: Current? = nil, last: SyncRecord? = nil, nextAt: String? = nil) {
      _current = OrNull(wrappedValue: current)
      _last = OrNull(wrappedValue: last)
      _nextAt = OrNull(wrappedValue: nextAt)
    }

    enum CodingKeys: String, CodingKey {
      case current, last
      case nextAt = "next_at"
    }
  }

  /// `config`: the configuration that holds, and the last one that was refused.
  package struct Config: Codable, Sendable, Equatable {
    /// null: no file, the defaults hold.
    @OrNull package var path: String?
    /// When the configuration that holds was read, RFC 3339.
    package var loadedAt: String
    /// Why the last reload was refused; null once one was taken.
    @OrNull package var lastError: String?

    /// Without an error.
    package init(path: String?, loadedAt: String) {
      _path = OrNull(wrappedValue: path)
      self.loadedAt = loadedAt
      _lastError = OrNull(wrappedValue: nil)
    }

    enum CodingKeys: String, CodingKey {
      case path
      case loadedAt = "loaded_at"
      case lastError = "last_error"
    }
  }

  /// The program's, such as 0.2.0.
  package var version: String
  /// Of the daemon.
  package var pid: Int32
  /// When the daemon started, RFC 3339.
  package var startedAt: String
  /// Since `started_at`.
  package var uptimeSeconds: Double
  /// The first that holds.
  package var state: State
  /// One sentence: what it does, or what is wrong and what to do.
  package var message: String
  /// Where pages come from.
  package var upstream: Upstream
  /// What readers see.
  package var cache: Cache
  /// What runs, what ran last, what runs next.
  package var sync: Sync
  /// Of the access token, by `auth.flow`.
  package var token: TokenStatus
  /// The configuration that holds.
  package var config: Config

  /// The document as it is sent.
  package init(
    version: String, pid: Int32, startedAt: String, uptimeSeconds: Double, state: State,
    message: String, upstream: Upstream, cache: Cache, sync: Sync, token: TokenStatus, config: Config
  ) {
    self.version = version
    self.pid = pid
    self.startedAt = startedAt
    self.uptimeSeconds = uptimeSeconds
    self.state = state
    self.message = message
    self.upstream = upstream
    self.cache = cache
    self.sync = sync
    self.token = token
    self.config = config
  }

  enum CodingKeys: String, CodingKey, CaseIterable {
    case version, pid, state, message, upstream, cache, sync, token, config
    case startedAt = "started_at"
    case uptimeSeconds = "uptime_seconds"
  }
}

/// `token` of `/v1/status`: what the keeper reports, no secret in it (T9).
package struct TokenStatus: Codable, Sendable, Equatable {
  /// Of the access token; `none`: there is none, or none is needed.
  package enum State: String, Codable, Sendable {
    case none, valid, expired, refreshing, unauthorized
  }

  /// The value of `auth.flow`.
  package var flow: String
  /// Of the current access token.
  package var state: State
  /// RFC 3339; null where it is not known.
  @OrNull package var expiresAt: String?
  /// Token requests that succeeded, since the daemon started.
  package var refreshes = 0
  /// Requests that shared another's refresh.
  package var joined = 0
  /// Late 401s that needed none.
  package var avoided = 0
  /// When the last token request succeeded, RFC 3339; null before there is one.
  @OrNull package var lastRefreshAt: String?
  /// Why the last token request failed; null after one that succeeded.
  @OrNull package var lastError: String?

  /// Before any token request.
  package init(flow: String, state: State = .none) {
    self.flow = flow
    self.state = state
    _expiresAt = OrNull(wrappedValue: nil)
    _lastRefreshAt = OrNull(wrappedValue: nil)
    _lastError = OrNull(wrappedValue: nil)
  }

  enum CodingKeys: String, CodingKey {
    case flow, state, refreshes, joined, avoided
    case expiresAt = "expires_at"
    case lastRefreshAt = "last_refresh_at"
    case lastError = "last_error"
  }
}

extension DaemonStatus.State {
  /// What holds where no sync runs, by the last one that ended.
  package init(after last: SyncRecord?) {
    if last?.exit == Failure.Kind.refused.exitCode {
      self = .unauthorized
    } else if let last {
      self = last.isDegraded ? .degraded : .idle
    } else {
      self = .starting
    }
  }
}
