import RosterModel

/// Replaces tables by filled ones with the same names, and makes grants, indexes and views of users again. It is part
/// of a transaction.
struct TableSwap {
  private let replica: Replica
  private var connection: PostgresConnection { replica.connection }
  private var sql: ReplicaSQL { replica.sql }

  init(_ replica: Replica) { self.replica = replica }

  /// Tries again while another session holds a lock: readers wait at most two seconds for one try.
  func swap(_ tables: [(made: String, table: ReplicaTable, constraints: [(name: String, definition: String)])]) throws {
    let old = try replica.ownTables()
    let indexes = try old.flatMap { try self.indexes(of: $0) }
    let grants = try old.flatMap { try self.grants(on: $0) }
    let views = try self.views(on: old)
    try connection.run("SET LOCAL lock_timeout = '2s'; SAVEPOINT swap")
    for attempt in 1... {
      do {
        try exchange(tables, old: old, views: views)
        break
      } catch let error as PostgresFailure where error.isLocked && attempt < Self.attempts {
        try connection.run("ROLLBACK TO swap")
      }
    }
    let names = Set(tables.map(\.table.name))
    for made in indexes + grants where names.contains(made.table) { try connection.run(made.statement) }
    for view in views { for statement in view.create { try connection.run(statement) } }
  }

  private func exchange(
    _ tables: [(made: String, table: ReplicaTable, constraints: [(name: String, definition: String)])],
    old: [String], views: [View]
  ) throws {
    for view in views.reversed() { try connection.run(view.drop) }
    if !old.isEmpty { try connection.run("DROP TABLE \(old.map(sql.name).joined(separator: ", "))") }
    for (made, table, constraints) in tables {
      try connection.run("ALTER TABLE \(sql.name(made)) RENAME TO \(quoted(table.name))")
      for (number, constraint) in constraints.enumerated() {
        try connection.run(
          """
          ALTER TABLE \(sql.name(table.name)) RENAME CONSTRAINT \(quoted("\(made)_\(number)")) TO \(quoted(constraint.name))
          """)
      }
    }
  }

  private static let attempts = 30

  /// Something of a user's to make again, and the table that it is on.
  private typealias Remade = (table: String, statement: String)

  /// Indexes that no constraint of the table owns.
  private func indexes(of table: String) throws -> [Remade] {
    try connection.run(
      """
      SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i
      WHERE i.indrelid = to_regclass($1) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
      """, with: [sql.name(table)]
    ).compactMap { row in (row.first ?? nil).map { (table, $0) } }
  }

  /// Grants on the table and on its columns.
  private func grants(on table: String) throws -> [Remade] {
    let name = sql.name(table)
    let option = "CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END"
    let role = "CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END"
    return try connection.run(
      """
      SELECT format('GRANT %s ON %s TO %s%s', a.privilege_type, $1::text, \(role), \(option))
      FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = to_regclass($1) AND a.grantee <> c.relowner
      UNION ALL
      SELECT format('GRANT %s (%I) ON %s TO %s%s', a.privilege_type, t.attname, $1::text, \(role), \(option))
      FROM pg_attribute t, aclexplode(t.attacl) a WHERE t.attrelid = to_regclass($1) AND t.attnum > 0
      """, with: [name]
    ).compactMap { row in (row.first ?? nil).map { (table, $0) } }
  }

  // MARK: Views

  private struct View {
    var drop: String
    var create: [String]
  }

  /// Views on those tables, and views on them, each after those that it reads.
  private func views(on tables: [String]) throws -> [View] {
    guard !tables.isEmpty else { return [] }
    let names = tables.map { literal(sql.name($0)) }.joined(separator: ", ")
    return try connection.run(
      """
      WITH RECURSIVE dependents(oid, depth) AS (
        SELECT to_regclass(name)::oid, 0 FROM unnest(ARRAY[\(names)]) AS name
        UNION
        SELECT r.ev_class, p.depth + 1 FROM dependents p
        JOIN pg_depend d ON d.refobjid = p.oid AND d.refclassid = 'pg_class'::regclass
          AND d.classid = 'pg_rewrite'::regclass
        JOIN pg_rewrite r ON r.oid = d.objid AND r.ev_class <> p.oid WHERE p.depth < 32)
      SELECT format('%I.%I', n.nspname, c.relname), c.relkind::text, pg_get_viewdef(c.oid),
        coalesce((SELECT string_agg(format('GRANT %s ON %I.%I TO %s', a.privilege_type, n.nspname, c.relname,
          CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), '; ')
          FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner), ''),
        pg_get_userbyid(c.relowner), c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
      FROM (SELECT oid, max(depth) AS depth FROM dependents WHERE depth > 0 GROUP BY oid) v
      JOIN pg_class c ON c.oid = v.oid JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY v.depth
      """
    ).map { row in
      if row[5] != "t" { throw refusal(row[0] ?? "", of: row[4] ?? "") }
      let (name, isMaterialised) = ((row[0] ?? ""), row[1] == "m")
      let kind = isMaterialised ? "MATERIALIZED VIEW" : "VIEW"
      let grants = row[3] ?? ""
      return View(
        drop: "DROP \(kind) \(name)",
        create: ["CREATE \(kind) \(name) AS \(row[2] ?? "")"] + (grants.isEmpty ? [] : [grants]))
    }
  }

  /// Only the owner of the view could make it again unchanged.
  private func refusal(_ view: String, of role: String) -> Failure {
    Failure(
      .refused, step: "replace the tables", subject: connection.server,
      cause: "the view \(view) of the role \(role) depends on a table whose columns change",
      hint: "drop the view, and create it again after the copy; until then the old tables stay")
  }
}
