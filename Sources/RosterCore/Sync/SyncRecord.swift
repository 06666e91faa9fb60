/// A row of `syncs`, and an object of `/v1/syncs`.
package struct SyncRecord: Codable, Sendable, Equatable {
  /// The result of a sync, or `running`.
  package enum Outcome: String, Codable, Sendable, CaseIterable {
    case running, published, unchanged, tried, failed, cancelled, interrupted

    /// True if the sync shows whether all is well. A cancelled or killed sync does not show it.
    package var isConclusive: Bool {
      switch self {
      case .published, .unchanged, .tried, .failed: true
      case .running, .cancelled, .interrupted: false
      }
    }
  }

  /// Id in `syncs`.
  package var id: Int64
  /// Start time, RFC 3339.
  package var startedAt: String
  /// End time, RFC 3339; null while it runs.
  @OrNull package var finishedAt: String? = nil
  /// Result of the sync.
  package var outcome: Outcome
  /// Number of pages that arrived, were unchanged, or were reused.
  package var pages = 0
  /// Number of records on those pages.
  package var records = 0
  /// Number of records that the previous snapshot did not have.
  package var added = 0
  /// Number of records that differ from the previous snapshot.
  package var changed = 0
  /// Number of records that were removed.
  package var removed = 0
  /// Number of records that could not be stored.
  package var rejected = 0
  /// Number of records that `where` excluded.
  package var skipped = 0
  /// Number of page and by-key requests: every attempt and every redirect hop.
  package var requests = 0
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
  /// Number of requested lists of children.
  package var lists = 0
  /// Number of them that failed or vanished.
  package var listsFailed = 0
  /// Exit code that `rosterd sync` would have had.
  @OrNull package var exit: Int32? = nil
  /// Reason for the failure, or for an incomplete result; null if all is well.
  @OrNull package var error: String? = nil
  /// Time of the oldest answer that the sync used, RFC 3339; nil if it used none. It is not in the row's JSON.
  package var verifiedAt: String?
  /// The trouble to explain. It is neither in the row nor in its JSON.
  package var trouble: Diagnosis?
  /// Number of records that incremental pulls had missed and this sync found, by resource. It is neither in the
  /// row nor in its JSON.
  package var missed: [String: Int] = [:]

  /// Number of records by resource; nil if they were not requested, or if the sync was neither published nor unchanged.
  package var resources: [String: Int]?

  /// All counters start at 0.
  package init(id: Int64, startedAt: String, outcome: Outcome = .running) {
    self.id = id
    self.startedAt = startedAt
    self.outcome = outcome
  }

  enum CodingKeys: String, CodingKey {
    case id
    case startedAt = "started_at"
    case finishedAt = "finished_at"
    case outcome, pages, records, added, changed, removed, rejected, skipped, requests
    case notModified = "not_modified"
    case resumed, retries, refreshes, bytes, lists
    case listsFailed = "lists_failed"
    case exit, error, resources
  }
}

extension SyncRecord {
  /// The counters, by the names of their columns.
  package static var counts: [(column: String, count: WritableKeyPath<SyncRecord, Int>)] {
    [
      ("pages", \.pages), ("records", \.records), ("added", \.added), ("changed", \.changed), ("removed", \.removed),
      ("rejected", \.rejected), ("skipped", \.skipped), ("requests", \.requests), ("not_modified", \.notModified),
      ("resumed", \.resumed), ("retries", \.retries), ("refreshes", \.refreshes), ("bytes", \.bytes),
      ("lists", \.lists), ("lists_failed", \.listsFailed),
    ]
  }

  /// True if the sync left the daemon degraded: it failed, rejected records, or could not do everything that it had to.
  package var isDegraded: Bool {
    switch outcome {
    case .failed: true
    case .published, .unchanged, .tried: rejected > 0 || error != nil
    case .running, .cancelled, .interrupted: false
    }
  }
}
