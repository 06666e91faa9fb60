internal import FoundationEssentials
internal import RosterModel
import Synchronization

/// The counters of `/metrics`.
package final class Metrics: Sendable {
  /// Values that are read for each answer instead of being counted.
  struct Gauges {
    /// Number of records by resource.
    var records: [(String, Int)]
    /// True for trusted validators, by resource.
    var trusted: [(String, Bool)] = []
    /// Lists of children, by resource.
    var lists: [(String, DaemonStatus.CachedLists)] = []
    /// Seconds since 1970 of the last whole pull, by resource; only those with `since`.
    var whole: [(String, Double)] = []
    /// Seconds since 1970, like all times here; 0 before the first snapshot.
    var snapshot: Double
    var verified: Double
    /// nil while a sync runs, or before the first sync has ended.
    var nextSync: Double?
    /// nil if upstream accepts requests.
    var heldUntil: Double?
    /// nil without a budget.
    var budget: (used: Int, limit: Int)?
    var tokenExpiry: Double?
    /// nil without a client certificate.
    var certificateEnd: Double?
    var state: DaemonStatus.State
    var pagesDone: Int
    var pages: Int
    var version: String
    var processStart: Double
  }

  fileprivate struct Counts {
    var syncs = Dictionary(uniqueKeysWithValues: ["published", "unchanged", "failed", "cancelled"].map { ($0, 0) })
    var requests: [String: Int] = [:]
    var retries: [String: Int] = [:]
    var refreshes = [Metrics.refreshed: 0]
    var received = 0
    var missed: [String: Int] = [:]
    // A sync may take less than a second with a local upstream and an hour with a slow one. The bounds of requests are
    // Prometheus' defaults.
    var syncSeconds = Histogram(bounds: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600])
    var requestSeconds = Histogram(bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
  }

  fileprivate static let refreshed = "refreshed"
  private let counts = Mutex(Counts())

  /// Counts one attempt of a request. `code` is nil if no answer arrived; `bytes` is the size of the received body.
  package func request(code: Int?, seconds: Double, bytes: Int) {
    counts.withLock { counts in
      counts.requests[code.map(String.init) ?? "error", default: 0] += 1
      counts.requestSeconds.observe(seconds)
      counts.received += bytes
    }
  }

  /// Call this when a sync has ended. `duration` comes from the monotonic clock, because a histogram's sum must not
  /// shrink.
  func syncTook(_ duration: Duration) {
    counts.withLock { $0.syncSeconds.observe(duration.seconds) }
  }

  /// Counts records that incremental pulls had missed and a whole pull found (I10.2).
  func missed(_ records: Int, of resource: String) {
    counts.withLock { $0.missed[resource, default: 0] += records }
  }

  /// Counts an event.
  func count(_ event: Event) {
    counts.withLock { $0.count(event) }
  }

  func text(_ gauges: Gauges) -> String {
    let counts = counts.withLock { $0 }
    var text = PrometheusText()
    text.counters("rosterd_syncs_total", help: "Syncs that ended, by outcome.", by: "outcome", values: counts.syncs)
    text.counters(
      "rosterd_requests_total", help: "Requests for pages and records by status code; error: no answer.", by: "code",
      values: counts.requests)
    text.counters(
      "rosterd_retries_total", help: "Requests sent again, by reason.", by: "reason", values: counts.retries)
    text.counters(
      "rosterd_token_refreshes_total", help: "Token requests: refreshed, or the reason of the failure.", by: "outcome",
      values: counts.refreshes)
    text.counters(
      "rosterd_missed_total", help: "Records that incremental pulls had missed and a whole pull found.", by: "resource",
      values: counts.missed)
    text.metric("rosterd_received_bytes_total", kind: .counter, help: "Body bytes received from upstream.")
    text.sample("rosterd_received_bytes_total", labels: [], value: Double(counts.received))
    text.histogram("rosterd_sync_duration_seconds", help: "How long syncs took.", histogram: counts.syncSeconds)
    text.histogram(
      "rosterd_request_duration_seconds", help: "How long single requests took.", histogram: counts.requestSeconds)
    text.gauges(gauges)
    text.process(.now, start: gauges.processStart)
    return text.text
  }
}

extension Metrics.Counts {
  fileprivate mutating func count(_ event: Event) {
    switch event.name {
    case .pageRetried: retries[event.reason ?? "other", default: 0] += 1
    case .tokenRefreshed: refreshes[Metrics.refreshed, default: 0] += 1
    case .tokenFailed: refreshes[event.reason ?? "other", default: 0] += 1
    case .syncPublished: syncs["published", default: 0] += 1
    case .syncUnchanged: syncs["unchanged", default: 0] += 1
    case .syncFailed: syncs["failed", default: 0] += 1
    case .syncCancelled: syncs["cancelled", default: 0] += 1
    default: break
    }
  }
}

extension PrometheusText {
  fileprivate mutating func gauges(_ gauges: Metrics.Gauges) {
    metric("rosterd_records", kind: .gauge, help: "Records in the snapshot, by resource.")
    for (resource, records) in gauges.records {
      sample("rosterd_records", labels: [("resource", resource)], value: Double(records))
    }
    metric(
      "rosterd_validators_trusted", kind: .gauge, help: "1 if the validators of the resource are used, 0 if they lied.")
    for (resource, isTrusted) in gauges.trusted {
      sample("rosterd_validators_trusted", labels: [("resource", resource)], value: isTrusted ? 1 : 0)
    }
    metric(
      "rosterd_lists", kind: .gauge,
      help: "Lists of child resources by state; the records of vanished and failed ones are of an earlier sync.")
    for (resource, lists) in gauges.lists {
      for (state, number) in [("current", lists.current), ("vanished", lists.vanished), ("failed", lists.failed)] {
        sample("rosterd_lists", labels: [("resource", resource), ("state", state)], value: Double(number))
      }
    }
    metric(
      "rosterd_whole_timestamp_seconds", kind: .gauge,
      help: "When a whole pull was last published or verified, by resource; only those with since.")
    for (resource, time) in gauges.whole {
      sample("rosterd_whole_timestamp_seconds", labels: [("resource", resource)], value: time)
    }
    gauge(
      "rosterd_snapshot_timestamp_seconds", help: "When the snapshot was published; 0: never.", value: gauges.snapshot)
    gauge(
      "rosterd_verified_timestamp_seconds", help: "When the last good sync ended; 0: none did.", value: gauges.verified)
    if let next = gauges.nextSync {
      gauge(
        "rosterd_next_sync_timestamp_seconds", help: "When the next sync starts; absent while one runs.", value: next)
    }
    if let held = gauges.heldUntil {
      gauge(
        "rosterd_held_until_timestamp_seconds", help: "Upstream wants no request before; absent while it takes them.",
        value: held)
    }
    if let (used, limit) = gauges.budget {
      gauge("rosterd_budget_used", help: "Requests of the last window of limit.budget.", value: Double(used))
      gauge("rosterd_budget_limit", help: "Requests that limit.budget permits in its window.", value: Double(limit))
    }
    if let expiry = gauges.tokenExpiry {
      gauge(
        "rosterd_token_expiry_timestamp_seconds", help: "When the access token expires; absent if not known.",
        value: expiry)
    }
    if let end = gauges.certificateEnd {
      gauge(
        "rosterd_client_certificate_expiry_timestamp_seconds",
        help: "When the client certificate expires; absent without one.", value: end)
    }
    metric("rosterd_state", kind: .gauge, help: "1 for the current state, 0 for the others.")
    for state in DaemonStatus.State.allCases {
      sample("rosterd_state", labels: [("state", state.rawValue)], value: state == gauges.state ? 1 : 0)
    }
    gauge(
      "rosterd_sync_pages_done", help: "Pages that the running sync has; 0 between syncs.",
      value: Double(gauges.pagesDone))
    gauge("rosterd_sync_pages", help: "Pages of the running sync; 0 between syncs.", value: Double(gauges.pages))
    metric("rosterd_build_info", kind: .gauge, help: "The version, as a label.")
    sample("rosterd_build_info", labels: [("version", gauges.version)], value: 1)
  }

  fileprivate mutating func process(_ facts: ProcessFacts, start: Double) {
    gauge("process_resident_memory_bytes", help: "Resident memory.", value: Double(facts.residentBytes))
    metric("process_cpu_seconds_total", kind: .counter, help: "User and system CPU time.")
    sample("process_cpu_seconds_total", labels: [], value: facts.cpuSeconds)
    gauge("process_start_time_seconds", help: "When the process started, since 1970.", value: start)
    gauge("process_open_fds", help: "Open file descriptors.", value: Double(facts.openDescriptors))
  }

  private mutating func gauge(_ name: String, help: String, value: Double) {
    metric(name, kind: .gauge, help: help)
    sample(name, labels: [], value: value)
  }
}
