import RosterModel

extension WrittenDefinition {
  /// Conflicts about columns that their tables cannot have.
  var columnConflicts: [DefinitionConflict] {
    let isSearched = Set(resource.search.map { $0.lowercased() })
    // FTS5 reserves these names (sqlite.org/fts5.html#fts5_table_creation_and_initialization).
    let unsearchable = Set(["rank", "rowid", "\(resource.table)_fts"].map { $0.lowercased() }).intersection(isSearched)
    let lists = resource.lists.flatMap { list in
      Self.conflicts(
        of: list.columns, at: ["lists", list.table, "columns"], own: ReservedNames.listColumns(of: resource.name))
    }
    return Self.conflicts(of: resource.columns, at: ["columns"], own: ReservedNames.columns) + placeless
      + unsearchable.sorted().map {
        DefinitionConflict(
          path: ["search"], problem: "\($0.tomlString) is SQLite's own in an index of words",
          allowed: "columns of other names")
      } + tooMany + lists + listNameConflicts
  }

  private static func conflicts(
    of columns: [Resource.Column], at path: [String], own: [String]
  ) -> [DefinitionConflict] {
    var first: [String: String] = [:]
    return columns.map(\.name).compactMap { name in
      let twin = first[name.lowercased()]
      first[name.lowercased()] = twin ?? name
      let problem: String? =
        if !name.isIdentifier {
          "is no plain identifier"
        } else if own.contains(name.lowercased()) {
          "is a column of rosterd's own"
        } else {
          twin.map { "is \($0) but for case" }
        }
      return problem.map {
        DefinitionConflict(
          path: path + [name], problem: $0,
          allowed:
            "letters, digits and _, no digit first; none of \(own.joined(separator: ", ")); each once, in any case")
      }
    }
  }

  /// Conflicts about columns at the whole record, which only columns of lists can have.
  private var placeless: [DefinitionConflict] {
    resource.columns.filter(\.at.isWhole).map {
      DefinitionConflict(
        path: ["columns", $0.name], restsOn: [["columns", $0.name]], problem: "has no place in the record",
        allowed: "a JSON Pointer such as \"/name\"")
    }
  }

  /// A record becomes JSON by one expression, which SQLite limits to a depth of 1,000 (sqlite.org/limits.html). The
  /// depth is two per column, and a few more.
  private static let maxColumns = 400

  private var tooMany: [DefinitionConflict] {
    let lists = resource.lists
    let tables =
      [(["columns"], resource.columns.count + lists.count)] + lists.map { (["lists", $0.table], $0.columns.count) }
    return tables.filter { $0.1 > Self.maxColumns }.map { path, count in
      DefinitionConflict(
        path: path, problem: "\(count) columns and lists are too many", allowed: "\(Self.maxColumns) at most")
    }
  }

  /// Conflicts about lists whose name in `changes` equals a column's.
  private var listNameConflicts: [DefinitionConflict] {
    let columns = resource.columns.map(\.name)
    var taken = Set(columns + [parent.map { "\($0)_id" }].compactMap(\.self)).union([
      "extra", "first_sync", "changed_sync",
    ])
    return resource.lists.compactMap { list in
      let name = Resource.name(ofList: list.table, in: resource.name, columns: columns)
      guard !taken.insert(name).inserted else { return nil }
      return DefinitionConflict(
        path: ["lists", list.table], problem: "a column or list is called \(name) in changes already",
        allowed: "a name of its own, without the leading \(resource.name)_ too")
    }
  }
}

/// Compares the table names of definitions with each other and with rosterd's own names. SQLite ignores their case.
enum TakenTables {
  /// Conflicts whose paths begin with the resource's name.
  static func conflicts(_ definitions: [WrittenDefinition]) -> [DefinitionConflict] {
    let named = definitions.flatMap(tables)
    let words = Dictionary(definitions.flatMap { wordTables(of: $0.resource) }) { first, _ in first }
    var seen: [String: String] = [:]
    return named.compactMap { table in
      let key = table.name.lowercased()
      let problem = problem(of: table.name) ?? problem(ofIndexOf: table) ?? seen[key] ?? words[key]
      seen[key] = seen[key] ?? "\(table.name.tomlString) is a table of resource.\(table.resource) already"
      return problem.map {
        DefinitionConflict(
          path: table.path, restsOn: table.restsOn, problem: $0,
          allowed: "a plain identifier that no other table has, in any case")
      }
    }
  }

  private struct Table {
    var resource: String
    var path: [String]
    var restsOn: [[String]] = []
    var name: String
    /// True if the table has an index of words. Its name is reserved even without `search`, which may be added later.
    var hasIndex = false
  }

  private static func tables(of definition: WrittenDefinition) -> [Table] {
    let (resource, name) = (definition.resource, definition.resource.name)
    let key = [name, "table"]
    let main = Table(
      resource: name, path: definition.has("table") ? key : [name], restsOn: [key], name: resource.table,
      hasIndex: true)
    return [main]
      + resource.lists.map { Table(resource: name, path: [name, "lists", $0.table], name: $0.table) }
  }

  private static func wordTables(of resource: Resource) -> [(String, String)] {
    ReservedNames.wordTables(of: resource.table).map { table in
      (table.lowercased(), "\(table.tomlString) is of the index of words of resource.\(resource.name)")
    }
  }

  /// A valid name of a table may be invalid for its index of words, for example `sqlite`.
  private static func problem(ofIndexOf table: Table) -> String? {
    guard table.hasIndex, let problem = problem(of: "\(table.name)_fts") else { return nil }
    return "\(problem), and its index of words has it"
  }

  private static func problem(of name: String) -> String? {
    if !name.isIdentifier { return "\(name.tomlString) is no plain identifier" }
    if ReservedNames.tables.contains(name.lowercased()) { return "\(name.tomlString) is a table of rosterd's own" }
    if name.lowercased().hasPrefix(ReservedNames.setAside) {
      return "\(name.tomlString) is a name that rosterd keeps for tables of a definition that changed"
    }
    return name.lowercased().hasPrefix("sqlite_") ? "\(name.tomlString) is a name that SQLite keeps for itself" : nil
  }
}
