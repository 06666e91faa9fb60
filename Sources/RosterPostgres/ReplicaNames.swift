package import RosterModel

/// Names of tables and columns that PostgreSQL cannot have.
package enum ReplicaNames {
  /// The first fault as a clause; nil if PostgreSQL can have all names.
  package static func fault(in tables: [ReplicaTable]) -> String? {
    if let table = tables.first(where: { own.contains($0.name) }) {
      return "a resource has the table \(table.name), a name that rosterd-postgres needs for its place in the feed"
    }
    if let (name, former) = ambiguous(tables.map(\.name)) {
      return "PostgreSQL keeps 63 bytes of a name, and takes the table \(name) for the table \(former)"
    }
    for table in tables {
      if let column = table.columns.first(where: { reserved.contains($0.name) }) {
        return "the table \(table.name) has the column \(column.name), a name that PostgreSQL reserves"
      }
      if let (name, former) = ambiguous(table.columns.map(\.name)) {
        return """
          PostgreSQL keeps 63 bytes of a name, and takes the column \(name) of the table \(table.name) \
          for the column \(former)
          """
      }
    }
    return nil
  }

  /// A name and an earlier one that PostgreSQL does not tell apart.
  private static func ambiguous(_ names: [String]) -> (String, String)? {
    var known: [String: String] = [:]
    for name in names {
      if let former = known.updateValue(name, forKey: postgresName(name)) { return (name, former) }
    }
    return nil
  }

  /// Name of the table with the position, which no resource can have.
  static let position = "position"
  /// The position and the index of its key.
  static let own = [position, "\(position)_pkey"]

  /// System columns (PostgreSQL manual, "System Columns").
  private static let reserved: Set = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]
}

/// A name as PostgreSQL keeps it, with at most 63 bytes.
func postgresName(_ name: String) -> String {
  var kept = name[...]
  while kept.utf8.count > 63 { kept.unicodeScalars.removeLast() }
  return String(kept)
}
