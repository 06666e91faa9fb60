/// The document of `/v1/status`: what rosterd answers and rosterctl reads.
package struct DaemonStatus: Codable, Sendable, Equatable {
  package enum State: String, Codable, Sendable, CaseIterable {
    case starting, idle, syncing, degraded, unauthorized, stopping
  }

  package struct Upstream: Codable, Sendable, Equatable {
    package var baseURL: String

    package init(baseURL: String) { self.baseURL = baseURL }

    enum CodingKeys: String, CodingKey { case baseURL = "base_url" }
  }

  package struct Cache: Codable, Sendable, Equatable {
    package var path: String
    @OrNull package var snapshot: Int64?
    @OrNull package var publishedAt: String?
    @OrNull package var verifiedAt: String?
    /// Counts from `verified_at`.
    @OrNull package var ageSeconds: Double?
    package var characters = 0
    package var pages = 0
    package var sizeBytes: Int64 = 0
    package var walBytes: Int64 = 0

    package init(path: String) {
      self.path = path
      _snapshot = OrNull(wrappedValue: nil)
      _publishedAt = OrNull(wrappedValue: nil)
      _verifiedAt = OrNull(wrappedValue: nil)
      _ageSeconds = OrNull(wrappedValue: nil)
    }

    enum CodingKeys: String, CodingKey {
      case path, snapshot, characters, pages
      case publishedAt = "published_at"
      case verifiedAt = "verified_at"
      case ageSeconds = "age_seconds"
      case sizeBytes = "size_bytes"
      case walBytes = "wal_bytes"
    }
  }

  package struct Current: Codable, Sendable, Equatable {
    package enum Phase: String, Codable, Sendable { case discovering, pulling, verifying, publishing }

    package var id: Int64
    package var startedAt: String
    package var phase: Phase
    package var pagesDone = 0
    package var pagesTotal = 0
    package var characters = 0
    package var inFlight = 0
    package var requests = 0
    package var retries = 0
    package var refreshes = 0
    package var bytes = 0

    package init(id: Int64, startedAt: String, phase: Phase) {
      self.id = id
      self.startedAt = startedAt
      self.phase = phase
    }

    enum CodingKeys: String, CodingKey {
      case id, phase, characters, requests, retries, refreshes, bytes
      case startedAt = "started_at"
      case pagesDone = "pages_done"
      case pagesTotal = "pages_total"
      case inFlight = "in_flight"
    }
  }

  package struct Sync: Codable, Sendable, Equatable {
    @OrNull package var current: Current?
    @OrNull package var last: SyncReport?
    @OrNull package var nextAt: String?

    package init(current: Current? = nil, last: SyncReport? = nil, nextAt: String? = nil) {
      _current = OrNull(wrappedValue: current)
      _last = OrNull(wrappedValue: last)
      _nextAt = OrNull(wrappedValue: nextAt)
    }

    enum CodingKeys: String, CodingKey {
      case current, last
      case nextAt = "next_at"
    }
  }

  package struct Config: Codable, Sendable, Equatable {
    /// null: no file, the defaults hold.
    @OrNull package var path: String?
    package var loadedAt: String
    @OrNull package var lastError: String?

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

  package var version: String
  package var pid: Int32
  package var startedAt: String
  package var uptimeSeconds: Double
  package var state: State
  /// One sentence: what it does, or what is wrong and what to do.
  package var message: String
  package var upstream: Upstream
  package var cache: Cache
  package var sync: Sync
  package var token: TokenStatus
  package var config: Config

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

  enum CodingKeys: String, CodingKey {
    case version, pid, state, message, upstream, cache, sync, token, config
    case startedAt = "started_at"
    case uptimeSeconds = "uptime_seconds"
  }
}

/// `token` of `/v1/status`: what the keeper reports, no secret in it (T9).
package struct TokenStatus: Codable, Sendable, Equatable {
  package enum State: String, Codable, Sendable {
    case none, valid, expired, refreshing, unauthorized
  }

  /// The value of `auth.flow`.
  package var flow: String
  package var state: State
  @OrNull package var expiresAt: String?
  /// Token requests that succeeded, since the daemon started.
  package var refreshes = 0
  /// Requests that shared another's refresh.
  package var joined = 0
  /// Late 401s that needed none.
  package var avoided = 0
  @OrNull package var lastRefreshAt: String?
  @OrNull package var lastError: String?

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
