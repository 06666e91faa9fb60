package import FoundationEssentials
import Synchronization

/// The progress of one sync: many tasks count, and the status may read it at any time.
package final class Tally: Sendable {
  /// All counters at one moment.
  package struct Counts: Sendable, Equatable {
    /// Progress of each resource, in the order of the configuration.
    package var resources: [DaemonStatus.PulledResource]
    /// Number of requested pages without an answer, including those that wait for a retry or a token.
    package var inFlight = 0
    /// Number of requests: every attempt and every redirect hop.
    package var requests = 0
    /// The same by resource. A request for several resources counts for the first one.
    package var requestsOf: [String: Int] = [:]
    /// Number of pages that upstream declared unchanged (304).
    package var notModified = 0
    /// Number of pages reused from an interrupted sync.
    package var resumed = 0
    /// Number of retries, without those after a 401.
    package var retries = 0
    /// Number of successful token requests.
    package var refreshes = 0
    /// Number of body bytes as received.
    package var bytes = 0
    /// Time of the oldest answer that the sync uses, kept ones included; nil before the first answer.
    package private(set) var earliestReceivedAt: Date?

    /// Starts at 0 for resources with these names.
    package init(resources: [String] = []) {
      self.resources = resources.map { DaemonStatus.PulledResource(name: $0) }
    }

    /// Number of pages done in the current pull, over all resources.
    package var pagesDone: Int { resources.reduce(0) { $0 + $1.pagesDone } }
    /// Number of records on those pages.
    package var records: Int { resources.reduce(0) { $0 + $1.records } }

    /// nil if the number of pages of any resource is unknown.
    package var pagesTotal: Int? {
      var total = 0
      for pulled in resources {
        guard let pages = pulled.pagesTotal else { return nil }
        total += pages
      }
      return resources.isEmpty ? nil : total
    }

    /// Counts a page of a resource as done.
    /// - Parameter pages: total number of pages of the resource; nil if no answer says it.
    package mutating func done(_ resource: String, records: Int, pages: Int?) {
      change(resource) {
        $0.pagesDone += 1
        $0.pagesTotal = pages
        $0.records += records
      }
    }

    /// Counts a list of a child as done.
    package mutating func endList(of resource: String) {
      change(resource) { $0.listsDone = ($0.listsDone ?? 0) + 1 }
    }

    /// Sets the numbers of lists of a child, at the start and if lists are requested again.
    package mutating func setLists(of resource: String, done: Int, total: Int) {
      change(resource) { ($0.kind, $0.listsDone, $0.listsTotal) = (.each, done, total) }
    }

    /// Resets a resource that is pulled again from its first page.
    package mutating func restart(_ resource: String, as kind: DaemonStatus.PulledResource.Kind) {
      change(resource) { $0 = DaemonStatus.PulledResource(name: resource, kind: kind) }
    }

    private mutating func change(_ resource: String, _ change: (inout DaemonStatus.PulledResource) -> Void) {
      if let index = resources.firstIndex(where: { $0.name == resource }) { change(&resources[index]) }
    }

    /// Notes the time of an answer that the sync uses.
    package mutating func uses(answerOf time: Date) { earliestReceivedAt = min(earliestReceivedAt ?? time, time) }

    /// Counts a request for a resource; nil for any other request.
    package mutating func requested(_ resource: String?) {
      requests += 1
      if let resource { requestsOf[resource, default: 0] += 1 }
    }

    /// Takes back the count of a request that was not sent.
    package mutating func withdrawn(_ resource: String?) {
      requests -= 1
      if let resource { requestsOf[resource, default: 0] -= 1 }
    }
  }

  private let counts: Mutex<Counts>

  /// - Parameter resources: names of the resources to pull.
  package init(resources: [String] = []) {
    counts = Mutex(Counts(resources: resources))
  }

  /// All counters at this moment.
  package var now: Counts { counts.withLock { $0 } }

  /// Changes all counters in one step, and returns the result of the closure.
  @discardableResult
  package func update<Value: Sendable>(_ change: (inout Counts) -> Value) -> Value {
    counts.withLock { change(&$0) }
  }
}

extension SyncRecord {
  /// The record with the current counters.
  package func counting(_ counts: Tally.Counts) -> SyncRecord {
    var record = self
    record.records = counts.records
    record.requests = counts.requests
    record.retries = counts.retries
    record.refreshes = counts.refreshes
    record.bytes = counts.bytes
    record.pages = counts.pagesDone
    record.notModified = counts.notModified
    record.resumed = counts.resumed
    record.verifiedAt = counts.earliestReceivedAt?.rfc3339
    return record
  }
}

extension DaemonStatus.Current {
  /// The status of the running sync with the current counters.
  package init(_ record: SyncRecord, counts: Tally.Counts, phase: Phase) {
    self.init(id: record.id, startedAt: record.startedAt, phase: phase)
    records = counts.records
    requests = counts.requests
    retries = counts.retries
    refreshes = counts.refreshes
    bytes = counts.bytes
    pagesDone = counts.pagesDone
    pagesTotal = counts.pagesTotal
    resources = counts.resources
    inFlight = counts.inFlight
  }
}

/// The requests that the last pulls of a resource needed.
package struct PullCost: Sendable, Equatable {
  /// Number of requests of a whole pull; for a child, of all its lists.
  package var whole: Int
  /// Number of requests of an incremental pull; for a child, the average number for the lists of a usual sync. nil
  /// before the first one.
  package var incremental: Double?
  /// Number of lists that have a page; nil for a resource without `each`.
  package var lists: Int?

  /// Makes the cost from its numbers.
  package init(whole: Int, incremental: Double? = nil, lists: Int? = nil) {
    self.whole = whole
    self.incremental = incremental
    self.lists = lists
  }
}
