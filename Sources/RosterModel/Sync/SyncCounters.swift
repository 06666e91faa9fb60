/// The counters that the row of a sync and the status of the running sync have in common.
protocol SyncCounters {
  var records: Int { get set }
  var requests: Int { get set }
  var retries: Int { get set }
  var refreshes: Int { get set }
  var bytes: Int { get set }
}

extension SyncRecord: SyncCounters {}
extension DaemonStatus.Current: SyncCounters {}

extension SyncCounters {
  fileprivate mutating func take(_ counts: Tally.Counts) {
    records = counts.records
    requests = counts.requests
    retries = counts.retries
    refreshes = counts.refreshes
    bytes = counts.bytes
  }
}

extension SyncRecord {
  /// The record with the current counters.
  package func counting(_ counts: Tally.Counts) -> SyncRecord {
    var record = self
    record.take(counts)
    record.pages = counts.pagesDone
    record.notModified = counts.notModified
    record.resumed = counts.resumed
    return record
  }
}

extension DaemonStatus.Current {
  /// The status of the running sync with the current counters.
  package init(_ record: SyncRecord, counts: Tally.Counts, phase: Phase) {
    self.init(id: record.id, startedAt: record.startedAt, phase: phase)
    take(counts)
    pagesDone = counts.pagesDone
    pagesTotal = counts.pagesTotal
    resources = counts.resources
    inFlight = counts.inFlight
  }
}
