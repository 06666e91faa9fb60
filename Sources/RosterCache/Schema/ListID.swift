/// One list of a resource: its rows in `cache_lists` and `cache_resources`.
struct ListID: Equatable {
  /// Id in `cache_lists`; `cache_pages`, `cache_unlisted` and `cache_overlaid` refer to it.
  let id: Int64
  /// Id in `cache_resources`.
  let resource: Int64

  /// - Parameter parent: record id of the parent; 0 for the only list of a resource.
  /// - Returns: nil if the cache has no such list.
  init?(_ name: String, parent: Int64 = 0, in database: Database) throws {
    let found = try database.first(
      """
      SELECT l.id, l.resource_id FROM main.cache_resources c
      CROSS JOIN main.cache_lists l ON l.resource_id = c.id AND l.parent_id = ?2 WHERE c.name = ?1
      """, .text(name), .integer(parent)
    ) { ($0.integer(0), $0.integer(1)) }
    guard let found else { return nil }
    (id, resource) = found
  }

  init(id: Int64, resource: Int64) { (self.id, self.resource) = (id, resource) }

  /// Adds the list of a new parent. Throws `SQLiteError` (damaged) if the cache lacks the resource.
  init(adding name: String, parent: Int64, _ database: Database) throws {
    try database.run(
      "INSERT INTO main.cache_lists(resource_id, parent_id) SELECT id, ?2 FROM main.cache_resources WHERE name = ?1",
      .text(name), .integer(parent))
    guard let added = try ListID(name, parent: parent, in: database) else {
      throw SQLiteError.damaged("cache_resources lacks \(name)")
    }
    self = added
  }
}
