internal import RosterJSON
package import RosterModel

extension RecordChange {
  /// A row of `/v1/changes`.
  package var json: String {
    var json = JSONWriter()
    write(to: &json)
    return json.text
  }

  /// The columns that `init` reads. The keys of all other resources than these are nil.
  static func select(_ tables: [ResourceTables]) -> String {
    let document = "coalesce(c.after, c.before)"
    let keys = tables.map {
      "WHEN \(literal($0.resource.name)) THEN \(DocumentKey(of: $0, inDocument: document, among: tables).json)"
    }
    let key =
      keys.isEmpty
      ? "NULL" : "CASE WHEN json_valid(\(document)) THEN CASE c.resource \(keys.joined(separator: " ")) END END"
    return "SELECT id, sync_id, resource, record_id, kind, at, before, after, \(key) FROM main.changes c"
  }

  init(_ row: Row) {
    self.init(
      id: row.integer(0), sync: row.integer(1), resource: row.text(2), record: row.integer(3),
      kind: ChangeKind(rawValue: row.text(4)) ?? .changed, at: row.text(5), before: row.optionalText(6),
      after: row.optionalText(7))
    key = row.optionalText(8)
  }

  func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("id", id)
      json.member("sync_id", sync)
      json.member("resource", resource)
      json.member("record_id", record)
      json.member("key", json: key)
      json.member("kind", kind.rawValue)
      json.member("at", at)
      // Stored documents keep upstream's numbers as written (P10).
      json.member("before", json: before)
      json.member("after", json: after)
    }
  }
}
