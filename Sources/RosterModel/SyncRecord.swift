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

  enum CodingKeys: String, CodingKey {
    case id
    case startedAt = "started_at"
    case finishedAt = "finished_at"
    case outcome, pages, records, added, changed, removed, rejected, skipped, requests
    case notModified = "not_modified"
    case resumed, retries, refreshes, bytes, exit, error
  }
}
