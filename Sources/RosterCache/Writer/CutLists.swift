import RosterCore
internal import RosterDecode

/// Lists in records that have further elements. An API often sends the first elements only, and says so beside them.
extension SnapshotPublication {
  /// Notes in the sync's row which lists of stored records are cut, so that the state is degraded.
  func noteCutLists(in record: inout SyncRecord) throws {
    for tables in data.tables {
      for list in tables.resource.lists {
        guard let cut = try cut(list, in: tables) else { continue }
        let name = tables.resource.name
        let what =
          "\(cut.records.counted(as: "record")) of \(name) \(cut.records == 1 ? "has" : "have") only the first elements of "
          + "\(list.at): upstream says so beside them"
        record.error = [record.error, "\(what) (the first is \(cut.key))"].compactMap(\.self).joined(separator: "; ")
        let trouble = Diagnosis(.cutList, what, [.resource(name), .record(cut.key, of: name)])
        guard var first = record.trouble else {
          record.trouble = trouble
          continue
        }
        first.others = (first.others ?? []) + [trouble]
        record.trouble = first
      }
    }
  }

  /// The number of records whose list is cut, and the key of one of them; nil if all lists are whole. The members
  /// beside a list that no column takes are in `extra`.
  ///
  /// An index contains these records, so that no sync looks at all records. It has the name of no table, because that
  /// has no full stop. The tables of another definition have no index yet. Other signs need another name.
  private func cut(_ list: Resource.List, in tables: ResourceTables) throws -> (records: Int, key: String)? {
    let parent = list.at.segments.dropLast()
    if parent.isEmpty { return nil }
    let signs = Self.signs.map { "json_type(extra, \(literal(Self.path(Array(parent) + $0)))) = 'true'" }
    let isCut = "CASE WHEN extra IS NOT NULL AND json_valid(extra) THEN \(signs.joined(separator: " OR ")) END"
    try data.database.execute(
      """
      CREATE INDEX IF NOT EXISTS main.\(quoted("\(list.table).cut")) ON \(tables.table)(\(tables.id)) WHERE \(isCut)
      """)
    let found = try data.database.first(
      """
      SELECT count(*), CAST(min(\(tables.key(of: tables.table))) AS TEXT) FROM main.\(tables.table) WHERE \(isCut)
      """
    ) { (records: $0.int(0), key: $0.optionalText(1) ?? "") }
    return found.flatMap { $0.records > 0 ? $0 : nil }
  }

  /// The members that say so: those of Stripe, of connections in GraphQL, and of search servers.
  private static let signs = [
    ["has_more"], ["hasMore"], ["hasNextPage"], ["isTruncated"], ["is_truncated"], ["pageInfo", "hasNextPage"],
    ["page_info", "has_next_page"], ["pagination", "has_more"],
  ]

  /// A path of SQLite. A quotation mark cannot be part of a name there.
  private static func path(_ segments: [String]) -> String {
    "$" + segments.map { ".\"\($0)\"" }.joined()
  }
}
