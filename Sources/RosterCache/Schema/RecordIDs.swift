internal import RosterModel

/// A record id is never given to another key (section 5). Where the key is an integer it is the id; to texts ids are
/// given one after the other, and what was given last outlives the table.
enum RecordIDs {
  /// Of a table that goes.
  static func note(_ tables: ResourceTables, _ database: Database) throws {
    try database.run(
      """
      INSERT INTO main.cache_record_ids SELECT ?1, max(
        coalesce((SELECT max(\(tables.id)) FROM main.\(tables.table)), 0),
        coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = ?2), 0),
        coalesce((SELECT max(record_id) FROM main.changes WHERE resource = ?1), 0))
      WHERE true ON CONFLICT (resource) DO UPDATE SET highest = excluded.highest WHERE excluded.highest > highest
      """, .text(tables.resource.name), .text(tables.resource.table))
  }

  /// For a table that comes, and is empty.
  static func goOn(_ tables: ResourceTables, _ database: Database) throws {
    guard tables.hasTextKey else { return }
    // Behind the highest of all there would be none left (sqlite.org/autoinc.html): keys that were integers and used up
    // half of them leave the other half.
    try database.run(
      """
      INSERT INTO main.sqlite_sequence SELECT ?2, min(highest, ?3) FROM main.cache_record_ids WHERE resource = ?1
      """, .text(tables.resource.name), .text(tables.resource.table), .integer(.max / 2))
  }
}
