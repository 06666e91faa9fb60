extension Schema {
  /// Creates the schema in an empty file, or migrates an older one, in one transaction.
  func migrate(_ database: Database) throws {
    let found = try database.count("PRAGMA user_version")
    if found == Self.version { try SecondVersion.complete(database) }
    guard found < Self.version else { return }
    try database.transaction {
      switch found {
      case 0: try create(database)
      case 1: try FirstVersion.migrate(database)
      default: try SecondVersion.migrate(database)
      }
      try database.execute("PRAGMA user_version = \(Self.version)")
    }
  }

  private func create(_ database: Database) throws {
    for statement in FixedTables.create { try database.execute(statement) }
    for table in tables { try add(table, to: database) }
    try defineRemoved(database)
  }
}
