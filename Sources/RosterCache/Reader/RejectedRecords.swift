package import RosterCore
internal import RosterDecode

extension CacheReader {
  /// The records that could not be stored. They belong to the last sync that was published or found nothing new, and to
  /// a later failed sync that published nothing because of them.
  package struct Rejects: Sendable, Equatable {
    /// The rejected records of the snapshot, ordered by resource, parent, page and position. Those of the failed sync
    /// follow.
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
      let records = try publishedRejects() + (TroubleFile(beside: path).trouble(of: failed)?.rejected ?? [])
      let documents = try records.map { record in
        try database.first("SELECT CASE WHEN json_valid(?1) THEN json(?1) END", .text(record.document)) {
          $0.optionalText(0)
        } ?? nil
      }
      return Rejects(records: records, failed: failed, hasSnapshot: try hasSnapshot(), documents: documents)
    }
  }

  /// The first records of the table, within a transaction.
  /// - Parameter limit: nil for all.
  func publishedRejects(limit: Int? = nil) throws -> [RejectedRecord] {
    var records = try database.rows(
      """
      SELECT sync_id, resource, parent_id, page, position, key, reason, document FROM main.rejects
      ORDER BY resource, parent_id, page, position LIMIT ?1
      """, Value(limit ?? -1)
    ) { row in
      var record = RejectedRecord(
        sync: row.integer(0), resource: row.text(1), page: row.int(3), position: row.int(4),
        key: row.optionalText(5), reason: row.text(6), document: row.text(7))
      if row.integer(2) != 0 { record.parentID = row.integer(2) }
      return record
    }
    let ids = Dictionary(grouping: records, by: \.resource).mapValues { Set($0.compactMap(\.parentID)) }
    let names = try ids.filter { !$0.value.isEmpty }.map { resource, ids in
      (resource, try parentNames(of: try tables(resource), ids: ids))
    }
    let parents = Dictionary(uniqueKeysWithValues: names)
    for index in records.indices {
      records[index].parent = records[index].parentID.flatMap { parents[records[index].resource]?[$0] }
    }
    return records
  }
}

extension RejectedRecord {
  fileprivate func write(_ value: String?, to json: inout JSONWriter) {
    json.object { json in
      json.member("sync_id", sync)
      json.member("resource", resource)
      json.member("parent_id", parentID ?? 0)
      json.member("page", page)
      json.member("position", position)
      json.member("key", key)
      json.member("reason", reason)
      json.name("document")
      if let value { json.raw(value.utf8) } else { json.value(document) }
    }
  }
}
