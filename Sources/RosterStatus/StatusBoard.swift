package import FoundationEssentials
package import RosterCore
import Synchronization

/// Holds the values that `/v1/status` and `/metrics` show. Its methods never wait for the database or for upstream,
/// and any thread may call them.
package final class StatusBoard: Sendable {
  fileprivate struct State {
    var cache: CacheFacts
    var current: (report: SyncRecord, tally: Tally, phase: DaemonStatus.Current.Phase)?
    /// True if `current` transfers everything again.
    var isFresh = false
    /// Start of `current`, by `uptime`.
    var began = Duration.zero
    var last: SyncRecord?
    /// The last sync that was neither cancelled nor killed. Its trouble lasts until the next one.
    var conclusive: SyncRecord?
    var next: SteadyDate?
    /// True if `next` is the time at which `limit.budget` has room for the sync.
    var isPostponed = false
    var token: TokenStatus
    var config: DaemonStatus.Config
    var sizes: FileSizes
    var stopping = false
    /// The time since which the current sync has made no progress; nil if it makes progress.
    var standsSince: Date?
    /// The systemd unit of this process, without `.service`.
    var unit = "rosterd"
    var isUserUnit = false
    /// The failure that refused the last reload; nil if the configuration file did, or if no reload was refused.
    var refusal: Failure?
    /// Why the client certificate could not be read before the last sync; nil if it could.
    var certificateFailure: Failure?
    /// The settings of the last reload that need a restart, as a clause.
    var restart: String?

    var shownConfig: DaemonStatus.Config {
      var config = config
      config.lastError = config.lastError ?? certificateFailure.map { "\($0)" }
      return config
    }
  }

  /// The limits between this rosterd and upstream.
  package struct Limits: Sendable {
    /// Time from the end of a sync to the next.
    package var interval: Duration?
    /// The time before which upstream wants no request.
    package var heldUntil: Date?
    /// `limit.budget`, and the requests in its last window.
    package var budget: (rule: RequestBudget, used: Int)?
    /// Expiry of the client certificate.
    package var certificateEnd: Date?
    /// The places of the token and of other secrets in a request.
    package var secrets: [TokenPlace] = []

    /// No limits.
    package init() {}
  }

  /// The stream of `/v1/events`.
  package let events: EventLog
  /// The counters of `/metrics`.
  package let metrics = Metrics()
  /// Counts snapshots, for clients that wait for changes.
  let snapshots = SnapshotCount()
  /// The clock of all times that the board shows.
  package let clock: WallClock
  /// Yields when the message may have changed. At most one element waits; there is one reader.
  package let changes: AsyncStream<Void>

  private let version: String
  private let pid: Int32
  private let startedAt: Date
  /// Start of the process, by `uptime`.
  private let started: Duration
  private let baseURL: String
  private let cachePath: String
  private let sizes: @Sendable () -> FileSizes
  private let limits: @Sendable () -> Limits
  private let changed: AsyncStream<Void>.Continuation
  private let state: Mutex<State>

  /// `cache` and `last` are the facts of earlier runs from the cache. `measure` calls `sizes`, which uses stat(2) by
  /// default. `limits` is called for each look, and must not wait.
  package init(
    version: String = rosterdVersion, pid: Int32, startedAt: Date, baseURL: String, cachePath: String,
    config: DaemonStatus.Config, flow: String, clock: WallClock, cache: CacheFacts = CacheFacts(),
    last: SyncRecord? = nil, sizes: (@Sendable () -> FileSizes)? = nil,
    limits: @escaping @Sendable () -> Limits = { Limits() }
  ) {
    self.version = version
    self.pid = pid
    self.startedAt = startedAt
    started = clock.uptime() - .seconds(max(0, clock.now().timeIntervalSince(startedAt)))
    self.baseURL = baseURL
    self.cachePath = cachePath
    let sizes = sizes ?? { FileSizes.on(cachePath: cachePath) }
    self.sizes = sizes
    self.limits = limits
    self.clock = clock
    events = EventLog(clock: clock, known: last?.finishedAt.flatMap(Date.init(rfc3339:)))
    state = Mutex(
      State(
        cache: cache, last: last, conclusive: last?.outcome.isConclusive == true ? last : cache.conclusive,
        token: TokenStatus(flow: flow), config: config, sizes: sizes()))
    (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Receives every event. It goes to the event log and the metrics, and changes the state if the event itself contains
  /// the change. Events that end a sync are reported after `syncEnded`, so that their readers find the sync in the
  /// status.
  package func report(_ event: Event) {
    switch event.name {
    case .configReloaded:
      let now = clock.now().rfc3339
      state.withLock { state in
        state.config.loadedAt = now
        state.config.lastError = nil
        state.certificateFailure = nil
        state.refusal = nil
        state.restart = event.reason
      }
    case .configRefused:
      state.withLock { state in
        if event.error != state.certificateFailure.map({ "\($0)" }) { state.config.lastError = event.error }
      }
    case .daemonStopping: state.withLock { $0.stopping = true }
    default: break
    }
    metrics.count(event)
    events.append(event)
    changed.yield()
  }

  /// Call this when a sync begins. `tally` is read for each answer.
  package func syncBegan(_ report: SyncRecord, tally: Tally, isFresh: Bool = false) {
    let now = clock.uptime()
    change { state in
      state.current = (report, tally, .discovering)
      state.isFresh = isFresh
      state.began = now
      state.next = nil
      state.isPostponed = false
    }
  }

  /// Call this when the current sync reaches a phase. Ignored between syncs.
  package func phase(_ phase: DaemonStatus.Current.Phase) {
    change { $0.current?.phase = phase }
  }

  /// Measures the cache's files. Answers contain the last measured sizes, because a file system may hang and a request
  /// must not.
  package func measure() {
    let sizes = sizes()
    state.withLock { $0.sizes = sizes }
  }

  /// Ends the notes about caches that were moved aside if their files were removed. Looks at no file without
  /// such a note.
  package func lookAtMovedCaches() {
    let cache = state.withLock(\.cache)
    let damaged = cache.damaged.flatMap { fileStatus($0) == nil ? $0 : nil }
    let older: String? = if case .moved(let path)? = cache.older, fileStatus(path) == nil { path } else { nil }
    if damaged == nil, older == nil { return }
    change { state in
      if let damaged, state.cache.damaged == damaged { state.cache.damaged = nil }
      if let older, state.cache.older == .moved(older) { state.cache.older = nil }
    }
  }

  /// Call this when the current sync has ended and readers can see its result. `cache` has the facts that readers
  /// see now; nil if they are not known.
  package func syncEnded(_ report: SyncRecord, cache: CacheFacts?) {
    let now = clock.uptime()
    measure()
    change { state in
      // A sync that could not begin took no time.
      metrics.syncTook(state.current == nil ? .zero : now - state.began)
      state.current = nil
      state.standsSince = nil
      state.last = report
      if report.outcome.isConclusive { state.conclusive = report }
    }
    for (resource, records) in report.missed { metrics.missed(records, of: resource) }
    // Unknown facts may belong to another snapshot.
    if let cache { see(cache) } else { snapshots.add() }
  }

  /// Wakes clients that wait for changes if readers see another snapshot.
  private func see(_ facts: CacheFacts) {
    let isOther = state.withLock { state in
      defer { state.cache = facts }
      return facts.feed != state.cache.feed || facts.snapshot != state.cache.snapshot
    }
    // A counter that has counted nothing yet is 0 instead of absent.
    for resource in facts.resources where resource.wholeAt != nil { metrics.missed(0, of: resource.name) }
    changed.yield()
    if isOther { snapshots.add() }
  }

  /// Reports that the current sync has made no progress since this time.
  package func stands(since date: Date) { change { $0.standsSince = date } }

  /// Reports that the current sync makes progress again.
  package func moves() { change { $0.standsSince = nil } }

  /// Reports that a reload has read this file; nil without a file.
  package func configured(by path: String?) { change { $0.config.path = path } }

  /// Sets the systemd unit of this process, without `.service`, for the advice in explanations.
  /// - Parameter isOfUser: true if a user's own service manager runs it.
  package func runs(as unit: String, isOfUser: Bool = false) { change { ($0.unit, $0.isUserUnit) = (unit, isOfUser) } }

  /// Sets the failure that refused a reload; nil if the configuration file did. Call this before the event.
  package func refuses(by failure: Failure?) { change { $0.refusal = failure } }

  /// Sets why the client certificate cannot be read before a sync; nil as soon as it can, without a reload.
  /// Call this before the event.
  package func refusesCertificate(by failure: Failure?) { change { $0.certificateFailure = failure } }

  /// Sets the time of the next sync; nil if none is planned. Ignored while a sync runs.
  /// - Parameter isPostponed: true if `limit.budget` has no room before that time.
  package func nextSync(at date: Date?, isPostponed: Bool = false) {
    let next = date.map { SteadyDate($0, by: clock) }
    change { state in
      guard state.current == nil else { return }
      state.next = next
      state.isPostponed = isPostponed
    }
  }

  /// Updates the facts of the cache.
  package func cache(_ facts: CacheFacts) {
    measure()
    see(facts)
  }

  /// Updates the status of the token.
  package func token(_ token: TokenStatus) {
    change { $0.token = token }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    changed.yield()
  }
}

// MARK: Output

extension StatusBoard {
  /// The document of `/v1/status` for the current time.
  package func status() -> DaemonStatus {
    let now = clock.now()
    var state = state.withLock { $0 }
    // A token expires without an event.
    if state.token.state == .valid, let end = state.token.expiresAt.flatMap(Date.init(rfc3339:)), end <= now {
      state.token.state = .expired
    }
    let sync = state.sync(next: state.next?.date(by: clock))
    let cache = DaemonStatus.Cache(
      path: cachePath, state.cache, sizeBytes: state.sizes.database, walBytes: state.sizes.wal, now: now)
    let judged = state.judged(sync)
    let name = DaemonStatus.state(
      stopping: state.stopping, token: state.token, sync: judged, resources: cache.resources)
    var status = DaemonStatus(
      version: version, pid: pid, startedAt: startedAt.rfc3339,
      uptimeSeconds: ((clock.uptime() - started).seconds * 1000).rounded() / 1000, state: name,
      reason: DaemonStatus.reason(name, last: judged.last, cache: state.cache, token: state.token),
      upstream: upstream(limits(), requests: state.cache.requests ?? state.last?.requests), cache: cache, sync: sync,
      token: state.token,
      config: state.shownConfig)
    let log = state.cache.isWALPinned ? DaemonStatus.heldLog(path: cache.path, bytes: cache.walBytes) : nil
    status.notes = [log].compactMap(\.self) + state.cache.notes + [state.restart].compactMap(\.self)
    status.since = situation(of: status, state).since
    return status
  }

  /// The facts for an explanation at the current time.
  package func situation() -> Situation { situation(of: status(), state.withLock { $0 }) }

  private func situation(of status: DaemonStatus, _ state: State) -> Situation {
    var cache = state.cache
    cache.last = status.sync.last
    cache.conclusive = state.conclusive
    var situation = Situation(status.state, cache: cache, path: cachePath)
    situation.sync = status.sync
    situation.upstream = status.upstream
    situation.tokenError = status.token.lastError
    situation.config = (status.config.path, status.config.lastError)
    situation.refusal = state.refusal
    situation.certificate = state.config.lastError == nil ? state.certificateFailure : nil
    (situation.unit, situation.isUserUnit) = (state.unit, state.isUserUnit)
    situation.secrets = limits().secrets
    return situation
  }

  /// Rows of `syncs` in the form of the status. A sync that runs here counts as running even if its row has an end.
  /// That end is not reported yet, and a request would join the sync.
  package func recent(_ rows: [SyncRecord]) -> [SyncRecord] {
    let (current, last) = state.withLock { ($0.current, $0.last) }
    return rows.map { row in
      if let current, current.report.id == row.id { return current.report.counting(current.tally.now) }
      return row.outcome == .running && last?.id == row.id ? last ?? row : row
    }
  }

  /// The sentence that systemd shows too.
  package var message: String { status().message }

  /// The text of `/metrics`.
  package func metricsText() -> String {
    let state = state.withLock { $0 }
    let next = state.next?.date(by: clock)
    let counts = state.current?.tally.now ?? Tally.Counts()
    let limits = limits()
    let budget = limits.budget
    var text = metrics.text()
    text.resources(state.cache.resources)
    text.gauges([
      (
        "rosterd_snapshot_timestamp_seconds", "When the snapshot was published; 0 without a snapshot.",
        PrometheusText.moment(state.cache.publishedAt) ?? 0
      ),
      (
        "rosterd_verified_timestamp_seconds", "When the last good sync ended; 0 if no sync was good.",
        PrometheusText.moment(state.cache.verifiedAt) ?? 0
      ),
      (
        "rosterd_next_sync_timestamp_seconds", "When the next sync starts; absent while one runs.",
        next?.timeIntervalSince1970
      ),
      (
        "rosterd_held_until_timestamp_seconds", "Upstream wants no request before; absent while it takes them.",
        limits.heldUntil?.timeIntervalSince1970
      ),
      ("rosterd_budget_used", "Requests of the last window of limit.budget.", budget.map { Double($0.used) }),
      (
        "rosterd_budget_limit", "Requests that limit.budget permits in its window.",
        budget.map { Double($0.rule.limit) }
      ),
      (
        "rosterd_token_expiry_timestamp_seconds", "When the access token expires; absent if not known.",
        PrometheusText.moment(state.token.expiresAt)
      ),
      (
        "rosterd_client_certificate_expiry_timestamp_seconds",
        "When the client certificate expires; absent without one.", limits.certificateEnd?.timeIntervalSince1970
      ),
      (
        "rosterd_config_refused", "1 if the last reload was refused, and the older configuration is in use.",
        state.shownConfig.lastError == nil ? 0 : 1
      ),
    ])
    text.state(
      DaemonStatus.state(
        stopping: state.stopping, token: state.token, sync: state.judged(state.sync(next: next)),
        resources: state.cache.resources))
    text.gauges([
      ("rosterd_sync_pages_done", "Pages that the running sync has; 0 between syncs.", Double(counts.pagesDone)),
      ("rosterd_sync_pages", "Pages of the running sync; 0 between syncs.", Double(counts.pagesTotal ?? 0)),
    ])
    text.process(.now, version: version, start: startedAt.timeIntervalSince1970)
    return text.text
  }

  private func upstream(_ limits: Limits, requests: Int?) -> DaemonStatus.Upstream {
    var upstream = DaemonStatus.Upstream(baseURL: baseURL)
    upstream.heldUntil = limits.heldUntil?.rfc3339
    upstream.clientCertificate = limits.certificateEnd.map { .init(notAfter: $0.rfc3339) }
    upstream.requestsPerDay = requests.flatMap { requests in limits.interval.map { $0.perDay(requests) } }
    upstream.budget = limits.budget.map {
      .init(limit: $0.rule.limit, windowSeconds: $0.rule.window.seconds, used: $0.used)
    }
    return upstream
  }
}

extension StatusBoard.State {
  /// The syncs from which the state and the message follow.
  fileprivate func judged(_ sync: DaemonStatus.Sync) -> DaemonStatus.Sync {
    var sync = sync
    sync.last = conclusive ?? last
    return sync
  }

  fileprivate func sync(next: Date?) -> DaemonStatus.Sync {
    var sync = DaemonStatus.Sync(
      current: current.map { current in
        var document = DaemonStatus.Current(current.report, counts: current.tally.now, phase: current.phase)
        document.fresh = isFresh
        return document
      }, last: last,
      nextAt: next?.rfc3339)
    sync.heldBy = isPostponed ? "limit.budget" : nil
    sync.stalledSince = standsSince?.rfc3339
    return sync
  }
}
