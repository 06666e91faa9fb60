internal import FoundationEssentials
import Glibc
import RosterCore
import Synchronization

/// The counters of `/metrics`.
package final class Metrics: Sendable {
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

  /// Counts records that incremental pulls had missed and a whole pull found.
  func missed(_ records: Int, of resource: String) {
    counts.withLock { $0.missed[resource, default: 0] += records }
  }

  func count(_ event: Event) {
    counts.withLock { $0.count(event) }
  }

  func text() -> PrometheusText {
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
    return text
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

/// A value that is read for each answer instead of being counted; nil leaves the metric out.
typealias Gauge = (name: String, help: String, value: Double?)

extension PrometheusText {
  /// Seconds since 1970.
  static func moment(_ time: String?) -> Double? { time.flatMap(Date.init(rfc3339:))?.timeIntervalSince1970 }

  mutating func gauges(_ gauges: [Gauge]) {
    for gauge in gauges {
      guard let value = gauge.value else { continue }
      metric(gauge.name, kind: .gauge, help: gauge.help)
      sample(gauge.name, labels: [], value: value)
    }
  }

  /// A gauge with samples for each resource that has a value.
  private mutating func gauge(
    _ name: String, help: String, resources: [DaemonStatus.CachedResource],
    value: (DaemonStatus.CachedResource) -> Double?
  ) {
    metric(name, kind: .gauge, help: help)
    for resource in resources {
      if let value = value(resource) { sample(name, labels: [("resource", resource.name)], value: value) }
    }
  }

  mutating func resources(_ resources: [DaemonStatus.CachedResource]) {
    gauge("rosterd_records", help: "Records in the snapshot, by resource.", resources: resources) { Double($0.records) }
    gauge(
      "rosterd_validators_trusted", help: "1 if the validators of the resource are used, 0 if they lied.",
      resources: resources
    ) { $0.validators == DaemonStatus.CachedResource.trusted ? 1 : 0 }
    metric(
      "rosterd_lists", kind: .gauge,
      help: "Lists of child resources by state; the records of vanished and failed ones are of an earlier sync.")
    for resource in resources {
      guard let lists = resource.lists else { continue }
      for (state, number) in [("current", lists.current), ("vanished", lists.vanished), ("failed", lists.failed)] {
        sample("rosterd_lists", labels: [("resource", resource.name), ("state", state)], value: Double(number))
      }
    }
    gauge(
      "rosterd_whole_timestamp_seconds",
      help: "When a whole pull was last published or verified, by resource; only those with since.",
      resources: resources
    ) { Self.moment($0.wholeAt) }
  }

  mutating func state(_ current: DaemonStatus.State) {
    metric("rosterd_state", kind: .gauge, help: "1 for the current state, 0 for the others.")
    for state in DaemonStatus.State.allCases {
      sample("rosterd_state", labels: [("state", state.rawValue)], value: state == current ? 1 : 0)
    }
  }

  mutating func process(_ facts: ProcessFacts, version: String, start: Double) {
    metric("rosterd_build_info", kind: .gauge, help: "The version, as a label.")
    sample("rosterd_build_info", labels: [("version", version)], value: 1)
    gauges([("process_resident_memory_bytes", "Resident memory.", Double(facts.residentBytes))])
    metric("process_cpu_seconds_total", kind: .counter, help: "User and system CPU time.")
    sample("process_cpu_seconds_total", labels: [], value: facts.cpuSeconds)
    gauges([
      ("process_start_time_seconds", "When the process started, since 1970.", start),
      ("process_open_fds", "Open file descriptors.", Double(facts.openDescriptors)),
    ])
  }
}

/// Resources that this process uses, from proc(5) and clock_gettime(2).
struct ProcessFacts {
  var residentBytes: Int
  var cpuSeconds: Double
  var openDescriptors: Int

  static var now: ProcessFacts {
    ProcessFacts(residentBytes: residentBytes(), cpuSeconds: cpuSeconds(), openDescriptors: openDescriptors())
  }

  /// The second number of statm is in pages.
  private static func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "re") else { return 0 }
    defer { fclose(file) }
    // The file has seven numbers, and a page count of 15 digits would be an exabyte.
    var line = [UInt8](repeating: 0, count: 128)
    let count = fread(&line, 1, line.count, file)
    let numbers = line[..<count].split(separator: UInt8(ascii: " "))
    guard numbers.count > 1, let pages = Int(String(decoding: numbers[1], as: UTF8.self)) else { return 0 }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  static func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  private static func openDescriptors() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var entries = 0
    while readdir(folder) != nil { entries += 1 }
    return entries - 3  // `.`, `..` and the folder's own descriptor
  }
}

/// Sizes of the cache's files in bytes.
package struct FileSizes: Sendable, Equatable {
  /// Size of the file itself.
  package var database: Int64
  /// Size of its write-ahead log.
  package var wal: Int64

  /// Uses stat(2), never the database. A missing file has size 0.
  package static func on(cachePath: String) -> FileSizes {
    FileSizes(database: fileSize(cachePath), wal: fileSize(cachePath + "-wal"))
  }
}
