internal import RosterDefinition
internal import RosterModel

/// Secrets in the definitions that an earlier version stored (T9.5).
enum StoredSecrets {
  /// Masks them, also those of resources that the configuration lacks now. Overwrites the clear text in the file and
  /// its log. The feed stays.
  static func remove(from database: Database) throws {
    let found = try database.definitions().compactMap { name, definition -> (String, String)? in
      guard let stored = Resource(name: name, pulledBy: definition), stored.secretsMasked() != stored else {
        return nil
      }
      return (name, stored.definition)
    }
    if found.isEmpty { return }
    try database.execute("PRAGMA secure_delete = ON")
    try database.transaction {
      for (name, definition) in found {
        try database.run("UPDATE main.resources SET definition = ?2 WHERE name = ?1", .text(name), .text(definition))
      }
    }
    // A reader may prevent it; a later checkpoint overwrites the log as well.
    _ = try? database.checkpoint(.truncate)
  }
}
