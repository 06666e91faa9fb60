/// An optional that is encoded as null, not left out: the contract's JSON names every field always.
@propertyWrapper
package struct OrNull<Value: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
  package var wrappedValue: Value?

  package init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}

/// One row of `syncs`, and one object of `/v1/syncs`.
package struct SyncRecord: Codable, Sendable, Equatable {
  package enum Outcome: String, Codable, Sendable, CaseIterable {
    case running, published, unchanged, tried, failed, cancelled, interrupted
  }

  package var id: Int64
  package var startedAt: String
  @OrNull package var finishedAt: String?
  package var outcome: Outcome
  package var pages = 0
  package var records = 0
  package var added = 0
  package var changed = 0
  package var removed = 0
  package var rejected = 0
  /// By `where`.
  package var skipped = 0
  /// Page and by-id requests, every attempt and redirect hop.
  package var requests = 0
  package var notModified = 0
  package var resumed = 0
  package var retries = 0
  /// Token requests that succeeded.
  package var refreshes = 0
  /// Body bytes as received.
  package var bytes = 0
  /// What `rosterd sync` would have exited with.
  @OrNull package var exit: Int32?
  @OrNull package var error: String?

  package init(id: Int64, startedAt: String, outcome: Outcome = .running) {
    self.id = id
    self.startedAt = startedAt
    self.outcome = outcome
    _finishedAt = OrNull(wrappedValue: nil)
    _exit = OrNull(wrappedValue: nil)
    _error = OrNull(wrappedValue: nil)
  }

  /// With what was counted so far.
  package func counting(_ counts: Tally.Counts) -> SyncRecord {
    var report = self
    report.pages = counts.pagesDone
    report.records = counts.records
    report.requests = counts.requests
    report.notModified = counts.notModified
    report.resumed = counts.resumed
    report.retries = counts.retries
    report.refreshes = counts.refreshes
    report.bytes = counts.bytes
    return report
  }

  enum CodingKeys: String, CodingKey {
    case id
    case startedAt = "started_at"
    case finishedAt = "finished_at"
    case outcome, pages, records, added, changed, removed, rejected, skipped, requests
    case notModified = "not_modified"
    case resumed, retries, refreshes, bytes, exit, error
  }
}
