import RosterCore

/// Objects of users that PostgreSQL drops with a table or a view. Indexes and grants are made again, and comments of a
/// view. Others prevent the replacement.
struct UserObjects {
  /// Something to make again.
  struct Object {
    /// Kind and name, for messages.
    var title: String
    var statement: String
  }

  private let connection: PostgresConnection

  init(_ connection: PostgresConnection) { self.connection = connection }

  /// - Parameters:
  ///   - table: The table that takes the place of the one with the objects.
  ///   - name: Quoted name of the table, with its schema.
  func on(_ table: ReplicaTable, name: String) throws -> [Object] {
    let columns = Set(table.columns.map { postgresName($0.name) })
    return try indexes(of: name) + grants(on: name, columns: columns)
  }

  /// - Parameters:
  ///   - kind: `VIEW` or `MATERIALIZED VIEW`.
  ///   - name: Quoted name of the view, with its schema.
  func on(_ kind: String, name: String) throws -> [Object] {
    try indexes(of: name) + grants(on: name) + comments(on: name, kind: kind)
  }

  /// Throws a `Failure` that names row security, a trigger, a rule or a security label: it would be lost.
  /// - Parameter name: Quoted name of a table or view that is dropped, with its schema.
  func expectNone(on name: String) throws {
    let found = try connection.run(
      """
      SELECT 'the policy ' || polname FROM pg_policy WHERE polrelid = to_regclass($1)
      UNION ALL SELECT 'row security' FROM pg_class WHERE oid = to_regclass($1) AND relrowsecurity
      UNION ALL SELECT 'the trigger ' || tgname FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal
      UNION ALL SELECT 'the rule ' || rulename FROM pg_rewrite
        WHERE ev_class = to_regclass($1) AND rulename <> '_RETURN'
      UNION ALL SELECT 'a security label of ' || provider FROM pg_seclabel
        WHERE objoid = to_regclass($1) AND classoid = 'pg_class'::regclass
      """, with: [name])
    guard let object = found.first?.first ?? nil else { return }
    throw Failure(
      .cannotWrite, step: "replace the tables", subject: connection.server,
      cause: "\(name) has \(object), and it is made again or removed",
      hint: "drop that, and make it again after the copy; until then the old tables stay")
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

  private func objects(_ query: String, of name: String) throws -> [Object] {
    try connection.run(query, with: [name]).map { row in
      Object(title: row[0] ?? "", statement: row[1] ?? "")
    }
  }

  /// SQL of a quoted role. The number 0 means all roles.
  private static func role(_ number: String) -> String {
    "CASE WHEN \(number) = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(\(number))) END"
  }
}
