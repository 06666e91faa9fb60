/// One row of `syncs`, and one object of `/v1/syncs`.
package struct SyncRecord: Codable, Sendable, Equatable {
  /// How a sync ended; `running` while it has not.
  package enum Outcome: String, Codable, Sendable, CaseIterable {
    case running, published, unchanged, tried, failed, cancelled, interrupted
  }

  /// As in `syncs`.
  package var id: Int64
  /// RFC 3339.
  package var startedAt: String
  /// RFC 3339; null while it runs.
  @OrNull package var finishedAt: String?
  /// How it ended.
  package var outcome: Outcome
  /// Pages that arrived, were unchanged, or were taken over.
  package var pages = 0
  /// On those pages.
  package var records = 0
  /// Records that the snapshot did not have before.
  package var added = 0
  /// Records that it has otherwise than before.
  package var changed = 0
  /// Records that it has no more.
  package var removed = 0
  /// Records that could not be stored (P9).
  package var rejected = 0
  /// By `where`.
  package var skipped = 0
  /// Page and by-key requests, every attempt and redirect hop.
  package var requests = 0
  /// Pages that upstream said to be unchanged (304).
  package var notModified = 0
  /// Pages taken over from a sync that was broken off (P4).
  package var resumed = 0
  /// Repeats by P11 except those for 401.
  package var retries = 0
  /// Token requests that succeeded.
  package var refreshes = 0
  /// Body bytes as received.
  package var bytes = 0
  /// What `rosterd sync` would have exited with.
  @OrNull package var exit: Int32?
  /// Why it failed, or what falls short of what upstream has; null where all is well.
  @OrNull package var error: String?
  /// What is the matter with it, for who explains it: no part of the row, nor of its JSON.
  package var trouble: Trouble?

  /// Records by resource; nil: nobody asked, or the sync was neither published nor unchanged.
  package var resources: [String: Int]?

  /// Nothing counted yet.
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
    case resumed, retries, refreshes, bytes, exit, error, resources
  }
}

extension SyncRecord {
  /// Whether it left the daemon's state degraded: it failed, rejected records, or could not do all that it had to.
  package var isDegraded: Bool {
    switch outcome {
    case .failed: true
    case .published, .unchanged, .tried: rejected > 0 || error != nil
    case .running, .cancelled, .interrupted: false
    }
  }
}
