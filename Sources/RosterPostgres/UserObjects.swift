import RosterCore

/// Objects of users that PostgreSQL drops with a table or a view. They are indexes, grants, row security, triggers,
/// rules and security labels, and for a view also comments and defaults.
struct UserObjects {
  /// Something to make again.
  struct Object {
    /// Kind and name, for messages.
    var title: String
    var statement: String
    /// Removes something that may read views, before the views are dropped; nil for all others.
    var removal: String?
  }

  private let connection: PostgresConnection

  init(_ connection: PostgresConnection) { self.connection = connection }

  /// - Parameters:
  ///   - table: The table that takes the place of the one with the objects.
  ///   - name: Quoted name of the table, with its schema.
  func on(_ table: ReplicaTable, name: String) throws -> [Object] {
    let columns = Set(table.columns.map { postgresName($0.name) })
    return try indexes(of: name) + grants(on: name, columns: columns) + rowSecurity(of: name) + reactions(of: name)
      + labels(on: name, kind: "TABLE")
  }

  /// - Parameters:
  ///   - kind: `VIEW` or `MATERIALIZED VIEW`.
  ///   - name: Quoted name of the view, with its schema.
  func on(_ kind: String, name: String) throws -> [Object] {
    try indexes(of: name) + grants(on: name) + comments(on: name, kind: kind) + defaults(of: name) + reactions(of: name)
      + labels(on: name, kind: kind)
  }

  /// Rules and policies of a table that may read views.
  func reading(on name: String) throws -> [Object] {
    try (rowSecurity(of: name) + reactions(of: name)).filter { $0.removal != nil }
  }

  /// A grant by ALTER DEFAULT PRIVILEGES may be one that a user has revoked from the former table or view.
  func revokeDefaults(on name: String) throws {
    let grants = try connection.run(
      """
      SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', $1::text, \(Self.role("a.grantee")))
      FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = to_regclass($1) AND a.grantee <> c.relowner
      """, with: [name])
    for grant in grants.compactMap({ $0.first ?? nil }) { try connection.run(grant) }
  }

  /// - Throws: `Failure` that names the object, for example if it uses a column that no longer exists.
  func remake(_ object: Object) throws {
    do { try connection.run(object.statement) } catch let error as PostgresFailure {
      throw error.failure(
        "make \(object.title) again",
        advice: "drop it or change it, and run the copy again; until then the old tables stay")
    }
  }

  // MARK: Statements

  /// Indexes that no constraint owns.
  private func indexes(of name: String) throws -> [Object] {
    try objects(
      """
      SELECT 'the index ' || i.indexrelid::regclass, pg_get_indexdef(i.indexrelid) FROM pg_index i
      WHERE i.indrelid = to_regclass($1) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
      """, of: name)
  }

  /// Grants on the relation and on its columns.
  /// - Parameter columns: Columns that there still are; nil for all. The grants on others end with them.
  private func grants(on name: String, columns: Set<String>? = nil) throws -> [Object] {
    let option = "CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END"
    return try connection.run(
      """
      SELECT NULL, format('GRANT %s ON %s TO %s%s', a.privilege_type, $1::text, \(Self.role("a.grantee")), \(option))
      FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = to_regclass($1) AND a.grantee <> c.relowner
      UNION ALL
      SELECT t.attname, format('GRANT %s (%I) ON %s TO %s%s', a.privilege_type, t.attname, $1::text,
        \(Self.role("a.grantee")), \(option))
      FROM pg_attribute t, aclexplode(t.attacl) a WHERE t.attrelid = to_regclass($1) AND t.attnum > 0
      """, with: [name]
    ).filter { row in row[0].map { columns?.contains($0) ?? true } ?? true }
      .map { Object(title: "the grant on \(name)", statement: $0[1] ?? "") }
  }

  private func rowSecurity(of name: String) throws -> [Object] {
    try objects(
      """
      SELECT format('the policy %s on %s', p.polname, to_regclass($1)),
        format('CREATE POLICY %I ON %s AS %s FOR %s TO %s%s%s', p.polname, $1::text, CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
        CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
          ELSE 'ALL' END,
        (SELECT string_agg(\(Self.role("r")), ', ') FROM unnest(p.polroles) r),
        ' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')',
        ' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')'),
        CASE WHEN EXISTS (SELECT FROM pg_depend d JOIN pg_class v ON v.oid = d.refobjid AND v.relkind IN ('v', 'm')
          WHERE d.classid = 'pg_policy'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_class'::regclass)
        THEN format('DROP POLICY %I ON %s', p.polname, $1::text) END
      FROM pg_policy p WHERE p.polrelid = to_regclass($1)
      UNION ALL
      SELECT 'the row security of ' || to_regclass($1),
        format('ALTER TABLE %s %s ROW LEVEL SECURITY', $1::text, s.words), NULL
      FROM pg_class c, LATERAL (VALUES ('ENABLE', c.relrowsecurity), ('FORCE', c.relforcerowsecurity)) s(words, is_on)
      WHERE c.oid = to_regclass($1) AND s.is_on
      """, of: name)
  }

  /// Triggers and rules, and whether they are enabled.
  private func reactions(of name: String) throws -> [Object] {
    try objects(
      """
      WITH reactions(kind, name, definition, enabled) AS (
        SELECT 'TRIGGER', tgname, pg_get_triggerdef(oid), tgenabled FROM pg_trigger
        WHERE tgrelid = to_regclass($1) AND NOT tgisinternal
        UNION ALL
        SELECT 'RULE', rulename, pg_get_ruledef(oid), ev_enabled FROM pg_rewrite
        WHERE ev_class = to_regclass($1) AND rulename <> '_RETURN')
      SELECT format('the %s %s on %s', lower(r.kind), r.name, to_regclass($1)), s.statement,
        CASE WHEN r.kind = 'RULE' THEN format('DROP RULE IF EXISTS %I ON %s', r.name, $1::text) END
      FROM reactions r, LATERAL (VALUES (1, r.definition), (2, format('ALTER TABLE %s %s %s %I', $1::text,
        CASE r.enabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, r.kind,
        r.name))) s(step, statement) WHERE s.step = 1 OR r.enabled <> 'O' ORDER BY s.step
      """, of: name)
  }

  private func comments(on name: String, kind: String) throws -> [Object] {
    try objects(
      """
      SELECT 'the comment on ' || to_regclass($1), CASE WHEN d.objsubid = 0
        THEN format('COMMENT ON \(kind) %s IS %L', $1::text, d.description)
        ELSE format('COMMENT ON COLUMN %s.%I IS %L', $1::text, t.attname, d.description) END
      FROM pg_description d LEFT JOIN pg_attribute t ON t.attrelid = d.objoid AND t.attnum = d.objsubid
      WHERE d.objoid = to_regclass($1) AND d.classoid = 'pg_class'::regclass
      """, of: name)
  }

  /// Security labels, by which an extension may hide values.
  private func labels(on name: String, kind: String) throws -> [Object] {
    try objects(
      """
      SELECT 'the security label on ' || to_regclass($1), format('SECURITY LABEL FOR %I ON %s IS %L', l.provider,
        CASE WHEN l.objsubid = 0 THEN '\(kind) ' || $1::text ELSE format('COLUMN %s.%I', $1::text, t.attname) END,
        l.label)
      FROM pg_seclabel l LEFT JOIN pg_attribute t ON t.attrelid = l.objoid AND t.attnum = l.objsubid
      WHERE l.objoid = to_regclass($1) AND l.classoid = 'pg_class'::regclass
      """, of: name)
  }

  private func defaults(of name: String) throws -> [Object] {
    try objects(
      """
      SELECT 'the default on ' || to_regclass($1), format('ALTER VIEW %s ALTER COLUMN %I SET DEFAULT %s', $1::text,
        t.attname, pg_get_expr(d.adbin, d.adrelid))
      FROM pg_attrdef d JOIN pg_attribute t ON t.attrelid = d.adrelid AND t.attnum = d.adnum
      WHERE d.adrelid = to_regclass($1)
      """, of: name)
  }

  private func objects(_ query: String, of name: String) throws -> [Object] {
    try connection.run(query, with: [name]).map { row in
      Object(title: row[0] ?? "", statement: row[1] ?? "", removal: row.count > 2 ? row[2] : nil)
    }
  }

  /// SQL of a quoted role. The number 0 means all roles.
  private static func role(_ number: String) -> String {
    "CASE WHEN \(number) = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(\(number))) END"
  }
}
