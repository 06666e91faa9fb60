internal import RosterModel

/// Ensures that a record id is never given to another key (section 5). An integer key is its own record id. A text key
/// gets the next number, and the highest number is kept when the table is dropped.
enum RecordIDs {
  /// Stores the highest record id of a table that will be dropped.
  static func note(_ tables: ResourceTables, in database: Database) throws {
    try database.run(
      """
      INSERT INTO main.cache_record_ids SELECT ?1, max(
        coalesce((SELECT max(\(tables.id)) FROM main.\(tables.table)), 0),
        coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = ?2), 0),
        coalesce((SELECT max(record_id) FROM main.changes WHERE resource = ?1), 0))
      WHERE true ON CONFLICT (resource) DO UPDATE SET highest = excluded.highest WHERE excluded.highest > highest
      """, .text(tables.resource.name), .text(tables.resource.table))
  }

  /// Continues with the stored ids in a new, empty table.
  static func goOn(_ tables: ResourceTables, in database: Database) throws {
    guard tables.hasOwnIDs else { return }
    // After the highest possible id, no other would be left (sqlite.org/autoinc.html). If earlier integer keys were
    // very large, the ids continue at half the range.
    try database.run(
      """
      INSERT INTO main.sqlite_sequence SELECT ?2, min(highest, ?3) FROM main.cache_record_ids WHERE resource = ?1
      """, .text(tables.resource.name), .text(tables.resource.table), .integer(.max / 2))
  }
}
