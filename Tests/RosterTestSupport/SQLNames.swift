/// Names in the text of an SQL statement.
package enum SQLNames {
  /// Names of tables without a schema. A table of a definition may have the name of a temporary table, which SQLite
  /// would read instead. A view or trigger only looks into its own schema, and names none.
  package static func unqualifiedTables(in sql: String) -> [String] {
    let statements = sql.split(separator: ";").filter { !$0.contains("CREATE VIEW") && !$0.contains("CREATE TRIGGER") }
    return statements.flatMap { statement in
      let own = statement.matches(of: /\bWITH\s+(?:RECURSIVE\s+)?(\w+)/.wordBoundaryKind(.simple)).map { String($0.1) }
      let place = /\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?("?\w+"?)(?![\w".(])/
        .wordBoundaryKind(.simple)
      return statement.matches(of: place).map { String($0.1) }.filter {
        !own.contains($0) && !["SET", "IF"].contains($0)
      }
    }
  }
}
