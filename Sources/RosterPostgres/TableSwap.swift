import RosterCore

/// Replaces tables by filled ones with the same names, and makes what users gave to them again. It is part of a
/// transaction.
struct TableSwap {
  /// A filled table, and the constraints that get their names with it.
  typealias Filled = (made: String, table: ReplicaTable, constraints: [ReplicaSQL.Constraint])

  private let replica: Replica
  private var connection: PostgresConnection { replica.connection }
  private var sql: ReplicaSQL { replica.sql }

  init(_ replica: Replica) { self.replica = replica }

  /// Tries again while another session holds a lock: readers wait at most a second for one try.
  /// - Parameter old: The tables that are replaced.
  func swap(_ tables: [Filled], old: [String]) throws {
    let replaced = tables.filter { old.contains(postgresName($0.table.name)) }
    let objects = UserObjects(connection)
    for name in old { try objects.expectNone(on: sql.name(name)) }
    let kept = try replaced.flatMap { try objects.on($0.table, name: sql.name($0.table.name)) }
    let views = try self.views(on: old)
    for view in views { try objects.expectNone(on: view.name) }
    try connection.run("SET LOCAL lock_timeout = '1s'; SAVEPOINT swap")
    for attempt in 1... {
      do {
        try exchange(tables, old: old, views: views)
        break
      } catch let error as PostgresFailure where error.isLocked && attempt < Self.attempts {
        try connection.run("ROLLBACK TO swap")
      }
    }
    for (_, table, _) in replaced { try objects.revokeDefaults(on: sql.name(table.name)) }
    for object in kept { try objects.remake(object) }
    for view in views { try remake(view, among: objects) }
  }

  private func exchange(_ tables: [Filled], old: [String], views: [View]) throws {
    for view in views.reversed() { try connection.run("DROP \(view.kind) \(view.name)") }
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

  /// A lock of another session ends a copy after 5 s.
  private static let attempts = 5

  // MARK: Views

  private struct View {
    /// Quoted, with its schema.
    var name: String
    var kind: String
    var made: UserObjects.Object
    var objects: [UserObjects.Object]
  }

  private func remake(_ view: View, among objects: UserObjects) throws {
    try objects.remake(view.made)
    try objects.revokeDefaults(on: view.name)
    for object in view.objects { try objects.remake(object) }
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
        JOIN pg_rewrite r ON r.oid = d.objid AND r.ev_class <> p.oid
        JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm') WHERE p.depth < 32)
      SELECT format('%I.%I', n.nspname, c.relname), CASE c.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END,
        coalesce((SELECT format(' WITH (%s)', string_agg(
          format('%I = %L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ')) FROM unnest(c.reloptions) o
          HAVING count(*) > 0), ''),
        rtrim(pg_get_viewdef(c.oid), ';') || CASE WHEN c.relispopulated THEN '' ELSE ' WITH NO DATA' END,
        pg_get_userbyid(c.relowner), c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
      FROM (SELECT oid, max(depth) AS depth FROM dependents WHERE depth > 0 GROUP BY oid) v
      JOIN pg_class c ON c.oid = v.oid JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY v.depth
      """
    ).map(view)
  }

  private func view(_ row: [String?]) throws -> View {
    let (name, kind) = (row[0] ?? "", row[1] ?? "")
    if row[5] != "t" { throw refusal(name, of: row[4] ?? "") }
    let made = UserObjects.Object(
      title: "the \(kind.lowercased()) \(name)", statement: "CREATE \(kind) \(name)\(row[2] ?? "") AS \(row[3] ?? "")")
    return View(name: name, kind: kind, made: made, objects: try UserObjects(connection).on(kind, name: name))
  }

  /// Only the owner of the view could make it again unchanged.
  private func refusal(_ view: String, of role: String) -> Failure {
    Failure(
      .refused, step: "replace the tables", subject: connection.server,
      cause: "the view \(view) of the role \(role) depends on a table that is made again or removed",
      hint: "drop the view, and create it again after the copy; until then the old tables stay")
  }
}
