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
