/// The only list of a resource: its rows in `cache_lists` and `cache_resources`.
struct ListID: Equatable {
  /// Id in `cache_lists`; `cache_pages` refers to it.
  let id: Int64
  /// Id in `cache_resources`; `cache_unlisted` and `cache_overlaid` refer to it.
  let resource: Int64

  /// nil if the cache has no resource of that name.
  init?(_ name: String, _ database: Database) throws {
    let found = try database.first(
      """
      SELECT l.id, l.resource_id FROM main.cache_resources c
      CROSS JOIN main.cache_lists l ON l.resource_id = c.id AND l.parent_id = 0 WHERE c.name = ?1
      """, .text(name)
    ) { ($0.integer(0), $0.integer(1)) }
    guard let found else { return nil }
    (id, resource) = found
  }
}
