internal import FoundationEssentials
internal import RosterCore
internal import RosterDecode

/// The temporary tables of lists that belong to parents.
enum ParentTables {
  /// The state of a list in this pull.
  enum State: Int {
    /// An interrupted sync has kept pages of it.
    case known
    /// It will be requested.
    case wanted
    case pulled
    /// It is empty. It was not pulled if `answered` is NULL.
    case empty
    case failed
    case vanished

    /// True if the records of the list are known after this pull.
    static let complete = "(\(State.pulled.rawValue), \(State.empty.rawValue))"
    /// A condition for rows of `lists`: the list belongs to resource ?1, is complete, and has a number above ?2. SQLite
    /// then reads the rows in the order of their numbers.
    static let isNextComplete = "list > ?2 AND +resource = ?1 AND +state IN \(complete)"
  }

  /// The question for a list in `row`: the parent's columns, and the start of an incremental pull.
  static func question(_ row: String) -> String { "\(row).asked || coalesce(char(10) || \(row).start, '')" }

  /// A condition: the list needs no request. See `Family.asked`.
  static let isEmpty = "substr(asked, 1, 7) = '\"empty\"'"

  /// - lists: lists of children. path: JSON list of the keys of the ancestors. facts: JSON of `ParentValues`. asked:
  ///   JSON of the parent's `changed` columns. answered: `Date` of its last answer, in seconds since 1970. start:
  ///   the mark or delta token of an incremental pull; NULL for a whole one. mark_before: the mark before the pull.
  ///   mark, token: those after the pull; NULL if the old ones stay. is_weak: the incremental pull drifted too often.
  /// is_resumed: an interrupted sync pulled it, and this one does not request it. found: its
  ///   comparison (`ResourceComparison.bytes`).
  /// - parents: records that this pull adds, or whose columns it changes. key: of the record in its list.
  /// - removed_parents: records that the publication removes.
  /// - claimed_keys: new records of a child of windows, of the windows compared so far.
  static let create = """
    CREATE TABLE temp.lists(list INTEGER PRIMARY KEY, resource INTEGER NOT NULL, path TEXT NOT NULL, parent INTEGER,
      state INTEGER NOT NULL, facts TEXT, asked TEXT, answered REAL,
      count INTEGER, error TEXT, start TEXT, mark_before TEXT, mark TEXT, token TEXT,
      is_weak INTEGER NOT NULL DEFAULT 0, is_resumed INTEGER NOT NULL DEFAULT 0, found BLOB, UNIQUE (resource, path));
    CREATE INDEX temp.lists_by_state ON lists(resource, state, list);
    CREATE INDEX temp.lists_by_parent ON lists(resource, parent);
    CREATE TABLE temp.parents(resource INTEGER NOT NULL, record_id INTEGER NOT NULL, list INTEGER NOT NULL,
      key NOT NULL, path TEXT NOT NULL, facts TEXT NOT NULL, PRIMARY KEY (resource, record_id),
      UNIQUE (resource, key, list)) WITHOUT ROWID;
    CREATE TABLE temp.removed_parents(resource INTEGER NOT NULL, record_id INTEGER NOT NULL,
      PRIMARY KEY (resource, record_id)) WITHOUT ROWID;
    CREATE TABLE temp.claimed_keys(resource INTEGER NOT NULL, key NOT NULL, PRIMARY KEY (resource, key)) WITHOUT ROWID;
    """

  static let names = ["temp.lists", "temp.parents", "temp.removed_parents", "temp.claimed_keys"]

  /// Lists with staged pages keep their numbers.
  static func readStaged(_ database: Database) throws {
    try database.run(
      "INSERT INTO temp.lists(list, resource, path, state) SELECT id, resource, path, 0 FROM next.list")
  }

  /// Makes a list that an interrupted sync has pulled to its end part of this pull.
  /// - Parameter state: `pulled`, or `empty` if an incremental pull is planned, and the kept one has found that the
  ///   list is empty.
  static func resume(_ list: Int64, as state: State = .pulled, in database: Database) throws {
    try database.run(
      """
      UPDATE temp.lists SET state = ?2, is_resumed = 1,
        (answered, count, mark, token) = (SELECT e.answered, e.count, e.mark, e.token FROM next.list e WHERE e.id = ?1),
        start = CASE WHEN ?2 = \(State.empty.rawValue) THEN NULL ELSE start END
      WHERE list = ?1
      """, .integer(list), Value(state.rawValue))
  }

  /// Forgets what an earlier pull found. Lists with kept pages remain.
  static func begin(_ database: Database) throws {
    try database.run("UPDATE temp.lists SET state = 0, parent = NULL WHERE state <> 0 OR parent IS NOT NULL")
    try database.run("DELETE FROM temp.parents")
    try database.run("DELETE FROM temp.removed_parents")
  }
}

/// The record ids that a pull gives to new parents, so that their children can be compared before the publication.
struct ReservedIDs {
  private let look: Statement

  init(_ database: Database) throws {
    look = try database.statement(
      "SELECT record_id FROM temp.parents WHERE resource = ?1 AND list = ?2 AND key = ?3")
  }

  /// nil unless the record is a new parent.
  func id(of key: RecordKey, in scope: ListScope) throws -> Int64? {
    look.bind(key, in: scope)
    defer { look.reset() }
    return try look.step() ? look.row.integer(0) : nil
  }
}

/// The resources that depend on each other as parents and children.
struct Family {
  let tables: [ResourceTables]

  /// Position of the parent of a resource; nil without a parent.
  func parent(of index: Int) -> Int? {
    tables[index].parent.flatMap { name in tables.firstIndex { $0.resource.name == name } }
  }

  /// Positions with each parent before its children.
  var descending: [Int] { tables.indices.sorted { (depth($0), $0) < (depth($1), $1) } }

  /// Number of ancestors.
  func depth(_ index: Int) -> Int { parent(of: index).map { depth($0) + 1 } ?? 0 }

  func hasChildren(_ index: Int) -> Bool { tables.contains { $0.parent == tables[index].resource.name } }

  /// The columns of the resource that lists of its descendants depend on, in the order of the definition.
  func neededColumns(_ index: Int) -> [Int] {
    let resource = tables[index].resource
    let needed = Set(tables.flatMap(\.resource.neededParentColumns).filter { $0.resource == resource.name })
    return resource.columns.indices.filter {
      needed.contains(ParentColumn(resource.name, resource.columns[$0].name))
    }
  }

  // MARK: SQL about the stored row `row` of a parent

  /// JSON of the values that lists below it depend on, those of its ancestors included.
  func facts(_ index: Int, _ row: String) -> String {
    let own = facts(index) { "\(row).\(quoted($0))" }
    guard let parent = parent(of: index), let column = tables[index].parentColumn else { return own }
    let next = row + "p"
    let stored =
      "SELECT \(facts(parent, next)) FROM \(tables[parent].from) \(next) WHERE \(next).\(tables[parent].id) = \(row).\(column)"
    let changed =
      "SELECT s.facts FROM temp.parents s WHERE s.resource = \(parent) AND s.record_id = \(row).\(column)"
    return "json_patch(coalesce((\(changed)), (\(stored))), \(own))"
  }

  /// JSON of its own values.
  func facts(_ index: Int, _ value: (String) -> String) -> String {
    let resource = tables[index].resource
    let members = neededColumns(index).map { column in
      let (name, type) = (resource.columns[column].name, resource.columns[column].type)
      // SQLite's own JSON would round a real to 15 digits.
      let json = type.form == .number ? "json(\(Database.numberText)(\(value(name))))" : value(name)
      return "\(literal(ParentColumn(resource.name, name).name)), \(json)"
    }
    return "json_object(\(members.joined(separator: ", ")))"
  }

  /// JSON list of the keys of its ancestors and its own.
  func path(_ index: Int, row: String) -> String {
    let table = tables[index]
    let key = table.resource.hasCompositeKey ? "json(\(table.key(of: row)))" : table.key(of: row)
    guard let parent = parent(of: index), let column = table.parentColumn else { return "json_array(\(key))" }
    let next = row + "p"
    let above =
      "SELECT \(path(parent, row: next)) FROM \(tables[parent].from) \(next) WHERE \(next).\(tables[parent].id) = \(row).\(column)"
    return table.resource.isDetail ? "(\(above))" : "json_insert((\(above)), '$[#]', \(key))"
  }

  /// The keys in such a JSON list, as people write them: one after another, also those of a composite key.
  static func keys(inPath path: String) -> String {
    "(SELECT group_concat(j.atom, ' ') FROM json_tree(\(path)) j WHERE j.atom IS NOT NULL)"
  }

  /// JSON of the columns whose change leads to another request, from the JSON of the parent's values. These are the
  /// columns of `each.changed`, and those that the request names. "empty" is in front of it if the list needs no
  /// request.
  func asked(_ child: Resource, _ facts: String) -> String {
    guard let each = child.each else { return "'[]'" }
    let named = child.parentColumns.filter { $0.key != "by_key" && !isOfKey($0.column) }.map(\.column)
    let columns = (each.changed.map { ParentColumn(each.parent, $0) } + named)
      .reduce(into: [ParentColumn]()) { if !$0.contains($1) { $0.append($1) } }
    let values = columns.map { column in
      let resource = tables.first { $0.resource.name == column.resource }?.resource
      let isReal = resource?.columns.contains { $0.name == column.column && $0.type.form == .number } ?? false
      return isReal ? column.json(in: facts) : column.value(in: facts)
    }
    return
      "CASE WHEN \(isEmpty(child, each, facts)) THEN '\"empty\"' ELSE '' END || json_array(\(values.joined(separator: ", ")))"
  }

  /// A condition: a column that the request names is NULL or empty, or `each.empty` is true.
  private func isEmpty(_ child: Resource, _ each: Each, _ facts: String) -> String {
    let unnamed = child.parentColumns.map { "coalesce(\($0.column.value(in: facts)), '') = ''" }
    let all = each.empty.map { table in
      let conditions = table.map { $0.test.holds(for: ParentColumn(each.parent, $0.column).value(in: facts)) }
      return "(\(conditions.joined(separator: " AND ")))"
    }
    return (unnamed + all + ["false"]).joined(separator: " OR ")
  }

  /// True for a stored record that this pull neither misses, rejects nor removes, and for whose ancestors the same
  /// holds. A record that the last whole pull of its list missed counts as missed.
  func isPublished(_ index: Int, row: String) -> String {
    let table = tables[index]
    let keys = table.keys
    let list =
      table.parentColumn.map {
        "coalesce((SELECT pl.list FROM temp.lists pl WHERE pl.resource = \(index) AND pl.parent = \(row).\($0)), -1)"
      } ?? "0"
    func absent(_ from: String) -> String { "NOT EXISTS (SELECT 1 FROM \(from))" }
    let own = [
      absent(
        "\(keys.missing) m WHERE m.resource = \(index) AND m.list = \(list) AND m.record_id = \(row).\(table.id) AND m.answered <> 1"
      ),
      absent("\(keys.rejected) j WHERE j.resource = \(index) AND j.list = \(list) AND j.key = \(table.key(of: row))"),
      absent(
        "\(keys.received) g WHERE g.resource = \(index) AND g.list = \(list) AND g.key = \(table.key(of: row)) AND +g.kind = 1"
      ),
      absent("temp.removed_parents d WHERE d.resource = \(index) AND d.record_id = \(row).\(table.id)"),
      absent(absence(index, row: row, list: list)),
    ]
    return (own + isPulled(index, row: row) + isParentPublished(index, row: row)).joined(separator: " AND ")
  }

  /// A condition: the list of the record was pulled by the current definition. A record of a list that failed since may
  /// lack the values on which its children depend. Empty for a resource without a parent.
  private func isPulled(_ index: Int, row: String) -> [String] {
    let table = tables[index]
    guard let column = table.parentColumn else { return [] }
    if table.isWaiting {
      return [
        """
        EXISTS (SELECT 1 FROM temp.lists bl WHERE bl.resource = \(index) AND bl.parent = \(row).\(column)
          AND bl.state IN \(ParentTables.State.complete))
        """
      ]
    }
    return [
      """
      NOT EXISTS (SELECT 1 FROM main.cache_resources br CROSS JOIN main.cache_lists bl
        ON bl.resource_id = br.id AND bl.parent_id = \(row).\(column)
        WHERE br.name = \(literal(table.resource.name)) AND bl.asked IS NULL)
      """
    ]
  }

  /// A query that has a row if the last whole pull missed the record, and this pull does not have it either.
  private func absence(_ index: Int, row: String, list: String) -> String {
    let table = tables[index]
    let parent = table.parentColumn.map { "\(row).\($0)" } ?? "0"
    return """
      main.cache_resources ur CROSS JOIN main.cache_lists ul ON ul.resource_id = ur.id AND ul.parent_id = \(parent)
      CROSS JOIN main.cache_unlisted u ON u.list_id = ul.id AND u.record_id = \(row).\(table.id) AND u.absent > 0
      WHERE ur.name = \(literal(table.resource.name))
        AND NOT EXISTS (SELECT 1 FROM \(table.keys.pulled) uc
          WHERE uc.resource = \(index) AND uc.list = \(list) AND uc.key = \(table.key(of: row)))
        AND NOT EXISTS (SELECT 1 FROM \(table.keys.missing) um WHERE um.resource = \(index) AND um.list = \(list)
          AND um.record_id = \(row).\(table.id) AND um.\(KeyTables.isFound))
      """
  }

  /// The same condition for the parent of the record; empty without a parent.
  private func isParentPublished(_ index: Int, row: String) -> [String] {
    guard let parent = parent(of: index), let column = tables[index].parentColumn else { return [] }
    let (above, next) = (tables[parent], row + "p")
    return [
      """
      EXISTS (SELECT 1 FROM \(above.from) \(next)
        WHERE \(next).\(above.id) = \(row).\(column) AND \(isPublished(parent, row: next)))
      """
    ]
  }
}

extension ParentColumn {
  private var path: String { literal("$.\(quoted(name))") }

  /// Its value in the JSON of a parent's values.
  fileprivate func value(in facts: String) -> String { ResourceTables.value(at: path, in: facts) }

  /// The same as JSON. A number keeps all its digits.
  fileprivate func json(in facts: String) -> String { "json(\(facts) -> \(path))" }
}

extension Resource.Condition.Test {
  /// `holds(for:)` as a condition.
  fileprivate func holds(for value: String) -> String {
    switch self {
    case .absent: "\(value) IS NULL"
    case .present: "\(value) IS NOT NULL"
    case .equal(let scalar): "\(value) IS \(scalar.literal)"
    case .differs(let scalars): (scalars.map { "\(value) IS NOT \($0.literal)" } + ["1"]).joined(separator: " AND ")
    }
  }
}

extension Resource.Scalar {
  fileprivate var literal: String {
    switch self {
    // Statements are found by their texts, which Swift takes for equal if only their normalization differs.
    case .text(let text) where !text.utf8.allSatisfy({ $0 < 0x80 }):
      "CAST(x'\(text.utf8.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16) }.joined())' AS TEXT)"
    case .text(let text): RosterCache.literal(text)
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .boolean(let flag): flag ? "1" : "0"
    }
  }
}
