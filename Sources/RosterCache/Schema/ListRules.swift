internal import RosterModel

/// The settings of `each` by which the lists of a child were chosen and requested last.
enum ListRules {
  /// If these settings have changed, the stored times say nothing about the next request of a list (E3). The next sync
  /// then requests each list of the child. A list that it does not pull stays due.
  static func apply(_ schema: Schema, to database: Database) throws {
    for (name, definition) in try database.definitions() {
      guard let tables = schema.tables.first(where: { $0.resource.name == name }), !tables.isWaiting,
        !tables.resource.hasListRules(of: definition)
      else { continue }
      try database.transaction { try renew(tables.resource, in: database) }
    }
  }

  private static func renew(_ resource: Resource, in database: Database) throws {
    try database.run(
      """
      UPDATE main.cache_lists SET due_at = min(coalesce(due_at, 0), 0)
      WHERE resource_id = (SELECT id FROM main.cache_resources WHERE name = ?1)
      """, .text(resource.name))
    try database.run(
      "UPDATE main.resources SET definition = ?2 WHERE name = ?1", .text(resource.name), .text(resource.definition))
  }
}
