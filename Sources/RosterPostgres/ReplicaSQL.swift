package import RosterCore

/// SQL that makes and changes the tables of one schema. Pure: it knows no connection.
package struct ReplicaSQL: Sendable {
  /// Quoted name of the schema.
  let schema: String

  /// - Parameter schema: not quoted.
  package init(schema: String) { self.schema = quoted(schema) }

  /// Quoted name of a table in the schema.
  func name(_ table: String) -> String { "\(schema).\(quoted(table))" }

  func list(_ columns: [String], prefix: String = "") -> String {
    columns.map { prefix + quoted($0) }.joined(separator: ", ")
  }

  // MARK: Making a table

  /// The table has no constraints yet: adding them after the rows takes half of the time.
  /// - Parameter isUnlogged: No subscriber of a logical replication receives the rows under the table's present name.
  func create(_ table: ReplicaTable, as name: String, isUnlogged: Bool) -> String {
    let columns = table.columns.map { "\(quoted($0.name)) \($0.type.rawValue)\($0.isRequired ? " NOT NULL" : "")" }
    return "CREATE\(isUnlogged ? " UNLOGGED" : "") TABLE \(self.name(name)) (\(columns.joined(separator: ", ")))"
  }

  /// A staging table, without constraints and defaults.
  func stage(_ table: ReplicaTable, as staged: String) -> String {
    let columns = table.columns.map { "\(quoted($0.name)) \($0.type.rawValue)" }
    return "CREATE TEMPORARY TABLE \(quoted(staged)) (\(columns.joined(separator: ", "))) ON COMMIT DROP"
  }

  /// A constraint of a table.
  struct Constraint {
    /// Not quoted.
    var name: String
    var definition: String
  }

  /// The constraints of each table. An index shares its namespace with the tables, so that no two names are equal.
  /// - Parameters:
  ///   - present: Present names of all tables, by the names that they get.
  ///   - taken: Names in the schema that stay.
  func constraints(_ tables: [ReplicaTable], present: [String: String], taken: [String]) -> [[Constraint]] {
    var taken = Set(ReplicaNames.own + tables.map { postgresName($0.name) } + taken)
    return tables.map { table in
      definitions(table, present: present).map { suffix, definition in
        Constraint(name: Self.unique(table.name, suffix: suffix, taken: &taken), definition: definition)
      }
    }
  }

  /// The constraints, as suffixes of names and definitions.
  private func definitions(_ table: ReplicaTable, present: [String: String]) -> [(String, String)] {
    var all: [(String, String)] = []
    all.append(("_pkey", "PRIMARY KEY (\(list(table.primaryKey)))"))
    for (index, columns) in table.unique.enumerated() {
      all.append(("_key\(index == 0 ? "" : "\(index + 1)")", "UNIQUE (\(list(columns)))"))
    }
    if case .elements(_, let records, let column) = table.role, let owner = present[records] {
      all.append(("_fkey", "FOREIGN KEY (\(quoted(column))) REFERENCES \(name(owner)) ON DELETE CASCADE"))
    }
    return all
  }

  /// A number tells names apart that would be equal.
  private static func unique(_ table: String, suffix: String, taken: inout Set<String>) -> String {
    let base = table.prefix(40)
    var (name, number) = ("\(base)\(suffix)", 1)
    while !taken.insert(name).inserted {
      number += 1
      name = "\(base)_\(number)\(suffix)"
    }
    return name
  }

  /// Names of relations and constraints in the schema `$1`, without those that end with the old tables.
  func names(besides old: [String]) -> String {
    let old = "ARRAY[\(regclasses(old))]::oid[]"
    return """
      SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.oid <> ALL (\(old)) AND NOT EXISTS (SELECT FROM pg_constraint k
        WHERE k.conindid = c.oid AND k.contype IN ('p', 'u', 'x') AND k.conrelid = ANY (\(old)))
      UNION ALL SELECT k.conname FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace
      WHERE n.nspname = $1 AND k.conrelid <> ALL (\(old))
      """
  }

  /// Those tables, and the tables of the schema `$1` whose foreign keys read them.
  func readers(of tables: [String]) -> String {
    """
    WITH RECURSIVE readers(relation) AS (
      SELECT unnest(ARRAY[\(regclasses(tables))]::oid[])
      UNION
      SELECT k.conrelid FROM readers r JOIN pg_constraint k ON k.contype = 'f' AND k.confrelid = r.relation)
    SELECT c.relname FROM readers r JOIN pg_class c ON c.oid = r.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1
    """
  }

  private func regclasses(_ tables: [String]) -> String {
    tables.map { "\(literal(name($0)))::regclass" }.joined(separator: ", ")
  }

  /// Finds a column of those tables that a user has dropped, renamed, or given another type: its table and its name.
  func alteredColumn(_ tables: [ReplicaTable]) -> String {
    let columns = tables.flatMap { table in
      table.columns.map { column in
        "(\(literal(name(table.name))), \(literal(postgresName(column.name))), '\(column.type.rawValue)'::regtype)"
      }
    }
    return """
      SELECT k.owner, k.name FROM (VALUES \(columns.joined(separator: ", "))) k(owner, name, type) WHERE NOT EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass(k.owner) AND a.attname = k.name
          AND a.atttypid = k.type AND a.atttypmod = -1 AND NOT a.attisdropped) LIMIT 1
      """
  }

  /// Statements that explain the table and its columns to people who find them in the database.
  func comments(_ table: ReplicaTable, on name: String) -> [String] {
    let own = ["COMMENT ON TABLE \(self.name(name)) IS \(literal(Self.comment(table)))"]
    return own
      + table.columns.compactMap { column in
        Self.comment(column, of: table).map {
          "COMMENT ON COLUMN \(self.name(name)).\(quoted(column.name)) IS \(literal($0))"
        }
      }
  }

  private static func comment(_ table: ReplicaTable) -> String {
    switch table.role {
    case .records(let resource): "Records of the resource \(resource). \(mark)"
    case .elements(let resource, let records, _):
      "Elements of a list inside the records of \(resource), one row each; see \(records). \(mark)"
    case .whole, .appended: "The table \(table.name) of rosterd's cache. \(mark)"
    }
  }

  private static func comment(_ column: ReplicaTable.Column, of table: ReplicaTable) -> String? {
    switch (column.name, table.role) {
    case ("extra", .records), ("extra", .elements): "Fields of upstream that no column takes, as a JSON object"
    case ("first_sync", .records): "Sync in which the record appeared (syncs.id)"
    case ("changed_sync", .records): "Sync in which the record last changed (syncs.id)"
    case ("record_id", .records): "Number of the record, which no other record ever gets"
    case ("position", .elements): "Place in the list, from 0"
    case (let name, .elements(_, let records, let owner)) where name == owner: "Record that has the list (\(records))"
    case ("verified_at", .whole): "Time of the oldest answer of the last sync that published or verified this snapshot"
    default: nil
    }
  }

  /// Last words of each comment, by which a table that `position.tables` lacks is known as one of rosterd's.
  package static let mark = "Written by rosterd-postgres"

  // MARK: Merging staged rows

  /// Statements that make the rows within the scope equal to the staged ones. Unchanged rows are not written.
  /// - Parameter ids: Temporary table with the record ids of the scope; nil for all rows.
  func delete(_ table: ReplicaTable, staged: String, ids: String?) -> [String] {
    let key = table.primaryKey
    let isSame = key.map { "s.\(quoted($0)) = t.\(quoted($0))" }.joined(separator: " AND ")
    let scope = ids.map { "t.\(quoted(scopeColumn(table))) IN (SELECT id FROM \(quoted($0))) AND " } ?? ""
    let absent = """
      DELETE FROM \(name(table.name)) t WHERE \(scope)NOT EXISTS (SELECT FROM \(quoted(staged)) s WHERE \(isSame))
      """
    // A row whose unique columns change makes room first: another row may get its former values.
    let moved = table.unique.map { columns in
      let differs = columns.map { "s.\(quoted($0)) IS DISTINCT FROM t.\(quoted($0))" }.joined(separator: " OR ")
      return "DELETE FROM \(name(table.name)) t USING \(quoted(staged)) s WHERE \(isSame) AND (\(differs))"
    }
    return [absent] + moved
  }

  /// See `delete`.
  func upsert(_ table: ReplicaTable, staged: String) -> String {
    let columns = table.columns.map(\.name)
    let insert =
      "INSERT INTO \(name(table.name)) AS t (\(list(columns))) SELECT \(list(columns)) FROM \(quoted(staged))"
    let rest = table.columns.filter { !table.primaryKey.contains($0.name) }
    guard !rest.isEmpty else { return insert }
    let assignments = rest.map { "\(quoted($0.name)) = excluded.\(quoted($0.name))" }.joined(separator: ", ")
    return """
      \(insert) ON CONFLICT (\(list(table.primaryKey))) DO UPDATE SET \(assignments)
      WHERE (\(values(rest, prefix: "t."))) IS DISTINCT FROM (\(values(rest, prefix: "excluded.")))
      """
  }

  /// Values to compare. As `jsonb`, 1 and 1.0 would be equal.
  private func values(_ columns: [ReplicaTable.Column], prefix: String) -> String {
    columns.map { "\(prefix)\(quoted($0.name))\($0.type == .jsonb ? "::text" : "")" }.joined(separator: ", ")
  }

  /// Removes the rows that `history` has ended.
  /// - Parameter column: the increasing column.
  func expire(_ table: ReplicaTable, by column: String, kept: KeptRows) -> String {
    let column = quoted(column)
    let first = kept.first.map { ["\(column) < \($0)"] } ?? []
    let others =
      kept.others.isEmpty ? [] : ["\(column) NOT IN (\(kept.others.map(String.init).joined(separator: ", ")))"]
    let condition = (first + others).joined(separator: " AND ")
    return "DELETE FROM \(name(table.name))\(condition.isEmpty ? "" : " WHERE \(condition)")"
  }

  /// The longest key after compression, as its bytes and its record, if PostgreSQL may be unable to index it.
  /// - Parameter rows: Quoted name of the table that has the rows.
  func longestKey(_ table: ReplicaTable, rows: String) -> String {
    let record = table.columns.contains { $0.name == "record_id" } ? "record_id" : "NULL"
    let bytes = table.textKeys.map { "coalesce(octet_length(\(quoted($0))), 0)" }.joined(separator: " + ")
    let size = table.textKeys.map { "coalesce(pg_column_size(\(quoted($0))), 0)" }.joined(separator: " + ")
    return "SELECT \(bytes), \(record) FROM \(rows) WHERE \(size) > \(Self.usualKey) ORDER BY \(size) DESC LIMIT 1"
  }

  /// Bytes that each key may have.
  private static let usualKey = 2_600

  private func scopeColumn(_ table: ReplicaTable) -> String {
    if case .elements(_, _, let owner) = table.role { return owner }
    return table.primaryKey.first ?? ""
  }

  // MARK: The transaction

  /// Limits of the role or the server on the time of a statement or a transaction do not suit a first copy.
  static let limits = """
    SET LOCAL standard_conforming_strings = on; \(set([
      ("lock_timeout", "5s"), ("statement_timeout", "0"), ("idle_in_transaction_session_timeout", "0"),
      ("transaction_timeout", "0"),
    ]))
    """

  /// The server notices within 30 s that the program or its machine is gone, so that the lock of the schema ends.
  static let lostClient = set([
    ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "4"),
    ("tcp_user_timeout", "30000"), ("client_connection_check_interval", "10s"),
  ])

  /// Settings until the end of the transaction. A setting that the server's version lacks is left out.
  private static func set(_ values: [(String, String)]) -> String {
    let values = values.map { "(\(literal($0)), \(literal($1)))" }.joined(separator: ", ")
    return """
      SELECT set_config(s.name, v.value, true) FROM pg_settings s JOIN (VALUES \(values)) v(name, value) USING (name)
      """
  }

  // MARK: The position

  /// - Parameter madeSchema: True if rosterd-postgres has made the schema, and may drop it.
  func createPosition(madeSchema: Bool) -> String {
    """
    CREATE TABLE IF NOT EXISTS \(name(ReplicaNames.position)) (
      one boolean PRIMARY KEY DEFAULT true CHECK (one), feed text NOT NULL, change bigint NOT NULL,
      snapshot bigint NOT NULL, sync bigint NOT NULL, cache text NOT NULL, layout text NOT NULL,
      replaced bigint NOT NULL, applied_at timestamptz NOT NULL, table_names text[],
      made_schema boolean NOT NULL DEFAULT \(madeSchema), upstream text);
    COMMENT ON TABLE \(name(ReplicaNames.position)) IS
      \(literal("Place in the feed of rosterd's cache up to which this schema has its rows. \(Self.mark)"))
    """
  }
}

/// An identifier in double quotes.
func quoted(_ name: String) -> String {
  "\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
}

/// A text in single quotes, for `standard_conforming_strings`.
func literal(_ text: String) -> String {
  "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
}

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
