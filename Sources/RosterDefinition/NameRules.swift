import RosterCore

extension WrittenDefinition {
  /// Rules of columns and lists that their tables cannot have.
  static var nameRules: [KeyRule<WrittenDefinition>] {
    [
      .each(["columns.*"], of: "F7.5", allowed: allowedName(besides: ReservedNames.columns)) {
        problems(of: $0.resource.columns, own: ReservedNames.columns).map {
          .init(entry: [$0.name], problem: $0.problem)
        }
      },
      .each(["columns.*.at"], of: "F7.3", allowed: "a JSON Pointer such as \"/name\"") {
        $0.resource.columns.filter(\.at.isWhole).map {
          .init(of: "columns", entry: [$0.name], problem: "has no place in the record")
        }
      },
      .each(["search", "table"], of: "F7.5", allowed: "columns of other names") {
        $0.unsearchable.map { .init(problem: "\($0.tomlString) is SQLite's own in an index of words") }
      },
      .each(["columns", "lists.*"], of: "F7.1", allowed: "\(maxColumns) at most") { definition in
        let lists = definition.resource.lists
        let columns = definition.resource.columns.count + lists.count
        let tables = [("columns", [], columns)] + lists.map { ("lists", [$0.table], $0.columns.count) }
        return tables.filter { $0.2 > maxColumns }.map {
          .init(of: $0.0, entry: $0.1, problem: "\($0.2) columns and lists are too many")
        }
      },
      .each(["lists.*.columns.*"], of: "F7.5") { definition in
        let own = ReservedNames.listColumns(of: definition.resource.name)
        return definition.resource.lists.flatMap { list in
          problems(of: list.columns, own: own).map {
            .init(
              entry: [list.table, "columns", $0.name], problem: $0.problem, allowed: allowedName(besides: own))
          }
        }
      },
      .each(["lists.*"], of: "F4.4", allowed: "a name of its own, also without the resource's name at its begin") {
        $0.listsOfOneName.map {
          .init(entry: [$0.table], problem: "a column or list is called \($0.name) in changes already")
        }
      },
    ]
  }

  /// A record becomes JSON by one expression, which SQLite limits to a depth of 1,000 (sqlite.org/limits.html). The
  /// depth is two per column, and a few more.
  private static let maxColumns = 400

  private static func allowedName(besides own: [String]) -> String {
    "letters, digits and _, no digit first; none of \(own.joined(separator: ", ")); each once, in any case"
  }

  private static func problems(of columns: [Resource.Column], own: [String]) -> [(name: String, problem: String)] {
    var first: [String: String] = [:]
    return columns.map(\.name).compactMap { name in
      let twin = first[name.lowercased()]
      first[name.lowercased()] = twin ?? name
      if !name.isIdentifier { return (name, "is no plain identifier") }
      if own.contains(name.lowercased()) { return (name, "is a column of rosterd's own") }
      return twin.map { (name, "is \($0) but for case") }
    }
  }

  /// FTS5 reserves these names (sqlite.org/fts5.html#fts5_table_creation_and_initialization).
  private var unsearchable: [String] {
    let isSearched = Set(resource.search.map { $0.lowercased() })
    return ["rank", "rowid", "\(resource.table)_fts".lowercased()].filter(isSearched.contains)
  }

  /// Lists whose name in `changes` equals a column's, or another list's.
  private var listsOfOneName: [(table: String, name: String)] {
    let columns = resource.columns.map(\.name)
    var taken = Set(columns + [parent.map { "\($0)_id" }].compactMap(\.self)).union([
      "extra", "first_sync", "changed_sync",
    ])
    return resource.lists.compactMap { list in
      let name = Resource.name(ofList: list.table, in: resource.name, columns: columns)
      return taken.insert(name).inserted ? nil : (list.table, name)
    }
  }
}

/// The tables of a definition, beside those of the others. SQLite ignores the case of names.
struct WrittenTables {
  let definition: WrittenDefinition
  /// The number of tables of earlier definitions.
  private let count: Int
  /// The first table with each name in lower case: its number in the order of the file, and a sentence.
  private let owners: [String: (number: Int, sentence: String)]
  /// A sentence for each table of an index of words.
  private let words: [String: String]

  static var rules: [KeyRule<WrittenTables>] {
    [
      .each(["table"], of: "F7.5", allowed: allowed) { tables in
        tables.problems.first { $0.list == nil }.map {
          [.init(of: tables.definition.has("table") ? "table" : "", problem: $0.problem)]
        } ?? []
      },
      .each(["lists.*"], of: "F7.5", allowed: allowed) {
        $0.problems.compactMap { list, problem in list.map { .init(entry: [$0], problem: problem) } }
      },
    ]
  }

  private static let allowed = "a plain identifier that no other table has, in any case"

  /// The tables of each definition, in their order.
  static func all(of definitions: [WrittenDefinition]) -> [WrittenTables] {
    let words = definitions.map(\.resource).flatMap { resource in
      ReservedNames.wordTables(of: resource.table).map { table in
        (table.lowercased(), "\(table.tomlString) is of the index of words of resource.\(resource.name)")
      }
    }
    let tables = definitions.flatMap { definition in
      definition.tables.map { ($0.name, "is a table of resource.\(definition.resource.name) already") }
    }
    let owners = tables.enumerated().map { number, table in
      (table.0.lowercased(), (number: number, sentence: "\(table.0.tomlString) \(table.1)"))
    }
    let first = (
      owners: Dictionary(owners) { first, _ in first }, words: Dictionary(words) { first, _ in first }
    )
    var count = 0
    return definitions.map { definition in
      defer { count += definition.tables.count }
      return WrittenTables(definition: definition, count: count, owners: first.owners, words: first.words)
    }
  }

  /// The tables with an invalid name. The table of records is one without a list.
  private var problems: [(list: String?, problem: String)] {
    definition.tables.enumerated().compactMap { number, table in
      let name = table.name.lowercased()
      let ofIndex = table.list == nil ? Self.problem(ofIndexOf: table.name) : nil
      let owner = owners[name].flatMap { $0.number < count + number ? $0.sentence : nil }
      return (Self.problem(of: table.name) ?? ofIndex ?? owner ?? words[name]).map { (table.list, $0) }
    }
  }

  /// A valid name of a table may be invalid for its index of words, for example `sqlite`. The index has its name even
  /// without `search`, which may be added later.
  private static func problem(ofIndexOf table: String) -> String? {
    problem(of: "\(table)_fts").map { "\($0), and its index of words has it" }
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

extension WrittenDefinition {
  /// The table of the records, and those of the lists.
  fileprivate var tables: [(list: String?, name: String)] {
    [(nil, resource.table)] + resource.lists.map { ($0.table, $0.table) }
  }
}
