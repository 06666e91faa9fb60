internal import RosterJSON
package import RosterModel

extension CacheReader {
  /// The records that could not be stored. They belong to the last sync that was published or found nothing new, and to
  /// a later failed sync that published nothing because of them.
  package struct Rejects: Sendable, Equatable {
    /// The snapshot's records by resource, page and position; then the first records of the failed sync.
    package var records: [RejectedRecord]
    /// The last sync, if it failed; nil otherwise.
    package var failed: SyncRecord?
    /// True if a snapshot was published.
    package var hasSnapshot: Bool
    /// The documents without white space; nil for a document that SQLite does not accept as JSON.
    fileprivate var documents: [String?]

    /// `{"rejects":[…]}`, each with the columns of the table. A document that is JSON is included as a value.
    package var json: String {
      JSONWriter.object { json in
        json.name("rejects")
        json.list { json in
          for (record, document) in zip(records, documents) { record.write(document, to: &json) }
        }
      }.text
    }
  }

  /// The records that could not be stored.
  package func rejects() throws -> Rejects {
    try read {
      let last = try database.first(
        "\(SyncRow.select) WHERE outcome <> 'running' ORDER BY id DESC LIMIT 1", read: SyncRow.read)
      let failed = last.flatMap { $0.outcome == .failed ? $0 : nil }
      let records = try published() + (TroubleFile(beside: path).trouble(of: failed)?.rejected ?? [])
      let documents = try records.map { record in
        try database.first("SELECT CASE WHEN json_valid(?1) THEN json(?1) END", .text(record.document)) {
          $0.optionalText(0)
        } ?? nil
      }
      return Rejects(records: records, failed: failed, hasSnapshot: try snapshot(), documents: documents)
    }
  }

  private func published() throws -> [RejectedRecord] {
    try database.rows(
      "SELECT sync_id, resource, page, position, reason, document FROM rejects ORDER BY resource, page, position"
    ) {
      RejectedRecord(
        sync: $0.integer(0), resource: $0.text(1), page: $0.int(2), position: $0.int(3), reason: $0.text(4),
        document: $0.text(5))
    }
  }
}

extension RejectedRecord {
  fileprivate func write(_ value: String?, to json: inout JSONWriter) {
    json.object { json in
      json.member("sync_id", sync)
      json.member("resource", resource)
      json.member("page", page)
      json.member("position", position)
      json.member("reason", reason)
      json.name("document")
      if let value { json.raw(value.utf8) } else { json.value(document) }
    }
  }
}
