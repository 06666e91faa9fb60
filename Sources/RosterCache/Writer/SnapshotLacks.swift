import RosterCore
internal import RosterDecode

/// Records and elements that the snapshot lacks, whether this sync or an earlier one missed them.
extension SnapshotPublication {
  /// Notes in the sync's row what the snapshot still lacks, so that the state stays degraded until it is there.
  func noteLacks(in record: inout SyncRecord) throws {
    try noteRejects(in: &record)
    try noteCutLists(in: &record)
  }

  /// Rejects of a list that was not pulled now, or whose pull did not transfer them again.
  private func noteRejects(in record: inout SyncRecord) throws {
    guard record.rejected == 0 else { return }
    let standing = try data.tables.reduce(0) { sum, tables in
      sum
        + (try data.database.count(
          "SELECT count(*) FROM main.rejects WHERE resource = ?1 AND position >= 0", .text(tables.resource.name)))
    }
    if standing == 0 { return }
    let what = "\(standing.counted(as: "record")) of earlier pulls could not be stored"
    note(what, "; rosterctl rejects shows why", Diagnosis(.rejects, what), in: &record)
  }

  /// Lists in records that have further elements. An API often sends the first elements only, with a sign beside them.
  private func noteCutLists(in record: inout SyncRecord) throws {
    for tables in data.tables {
      for list in tables.resource.lists {
        guard let cut = try cut(list, in: tables) else { continue }
        let name = tables.resource.name
        let what =
          "\(cut.records.counted(as: "record")) of \(name) \(cut.records == 1 ? "has" : "have") only the first elements of "
          + "\(list.at): a member beside the list shows that it goes on"
        let trouble = Diagnosis(.cutList, what, [.resource(name), .record(cut.key, of: name)])
        note(what, " (the first is \(cut.key))", trouble, in: &record)
      }
    }
  }

  /// Columns and lists that this sync has emptied in all records that had a value: upstream may have renamed a member.
  /// Values that are other by another definition do not count.
  func noteEmptied(_ emptied: [Int], of tables: ResourceTables, in record: inout SyncRecord) throws {
    guard tables.stored == nil else { return }
    let resource = tables.resource
    let columns = resource.columns.map {
      (at: $0.at, rows: "\(tables.table) WHERE coalesce(\(quoted($0.name)), '') <> ''")
    }
    let lists = resource.lists.map { (at: $0.at, rows: quoted($0.table)) }
    for ((place, rows), emptied) in zip(columns + lists, emptied) where emptied >= Self.fewestEmptied {
      if try data.database.count("SELECT EXISTS (SELECT 1 FROM main.\(rows))") == 1 { continue }
      let name = resource.name
      let what = "no record of \(name) has a value at \(place) any more, and \(emptied) had one before this sync"
      note(what, "", Diagnosis(.emptied, what, [.resource(name)]), in: &record)
    }
  }

  /// A few records may lose their values for a reason.
  private static let fewestEmptied = 10

  private func note(_ what: String, _ rest: String, _ trouble: Diagnosis, in record: inout SyncRecord) {
    record.error = [record.error, what + rest].compactMap(\.self).joined(separator: "; ")
    var first = record.trouble ?? trouble
    if record.trouble != nil { first.others = (first.others ?? []) + [trouble] }
    record.trouble = first
  }

  /// The number of records whose list is cut, and the key of one of them; nil if all lists are whole. The members
  /// beside a list that no column takes are in `extra`.
  ///
  /// An index contains these records, so that no sync looks at all records. It has the name of no table, because that
  /// has no full stop. The tables of another definition have no index yet. Other signs need another name.
  private func cut(_ list: Resource.List, in tables: ResourceTables) throws -> (records: Int, key: String)? {
    let signs = Self.signs(beside: list.at.segments)
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

  /// Conditions on `extra` that a list is cut. The members of a record say something about the record, and only those
  /// with the list's name are about the list.
  private static func signs(beside list: [String]) -> [String] {
    let (parent, name) = (Array(list.dropLast()), list.last ?? "")
    let flags = parent.isEmpty ? [["\(name)_truncated"], ["has_more_\(name)"]] : flags
    let links = [["\(name)@odata.nextLink"]] + (parent.isEmpty ? [] : links)
    return flags.map { "json_type(extra, \(literal(path(parent + $0)))) = 'true'" }
      + links.map { "coalesce(json_extract(extra, \(literal(path(parent + $0)))), '') NOT IN ('', 0)" }
  }

  /// Members that are true if the list goes on: those of Stripe, of connections in GraphQL, and of search servers.
  private static let flags = [
    ["has_more"], ["hasMore"], ["hasNextPage"], ["isTruncated"], ["is_truncated"], ["truncated"],
    ["pageInfo", "hasNextPage"], ["page_info", "has_next_page"], ["pagination", "has_more"],
  ]

  /// Members that lead to the next elements: those of HubSpot and Facebook, of Salesforce, Google and Slack.
  private static let links = [
    ["paging", "next"], ["paging", "next", "after"], ["nextRecordsUrl"], ["nextPageToken"], ["next_page_token"],
    ["next_cursor"], ["nextCursor"], ["links", "next"], ["_links", "next"], ["@odata.nextLink"], ["next"],
  ]

  /// A path of SQLite. A quotation mark cannot be part of a name there.
  private static func path(_ segments: [String]) -> String {
    "$" + segments.map { ".\"\($0)\"" }.joined()
  }
}
