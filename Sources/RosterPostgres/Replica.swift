package import RosterModel

/// The tables of one schema that a cache is copied to. Belongs to one thread.
package final class Replica {
  /// The snapshot that one transaction takes from the cache.
  package struct Batch {
    /// Tables that the snapshot has; records come before their elements.
    package var tables: [ReplicaTable]
    /// The snapshot's place in the feed.
    package var position: ReplicaPosition
    /// Path of the cache.
    package var cache: String
    /// Rows that have not expired, by the names of the appended tables.
    package var kept: [String: KeptRows] = [:]

    /// A batch of that snapshot.
    package init(tables: [ReplicaTable], position: ReplicaPosition, cache: String) {
      self.tables = tables
      self.position = position
      self.cache = cache
    }

    var layout: String { tables.map(\.signature).joined(separator: "\n") }
  }

  /// The contents of the schema.
  package struct State: Sendable, Equatable {
    /// Place in the feed.
    package var position: ReplicaPosition
    /// Path of the cache that it was copied from.
    package var cache: String
    /// Values in which a character that PostgreSQL refuses was replaced, since the last whole copy.
    package var replaced: Int
    /// Time of the last transaction, RFC 3339.
    package var appliedAt: String
    /// Signature of its tables.
    fileprivate var layout: String

    /// True if the tables are made as that batch needs them.
    package func fits(_ batch: Batch) -> Bool { layout == batch.layout }

    /// Names of the batch's tables that are missing here or have other columns.
    func lacking(_ batch: Batch) -> Set<String> {
      let known = Set(layout.split(separator: "\n"))
      return Set(batch.tables.filter { !known.contains(Substring($0.signature)) }.map { postgresName($0.name) })
    }
  }

  let connection: PostgresConnection
  let sql: ReplicaSQL
  let schema: String

  /// Checks server and schema, and takes the schema for this process until the connection ends.
  /// - Throws: `Failure` (75) if another process writes to the schema. `Failure` (78) if the server is older than
  ///   version 13, or if the schema belongs to something else.
  package init(_ connection: PostgresConnection, schema: String, isReading: Bool = false) throws {
    self.connection = connection
    self.schema = schema
    sql = ReplicaSQL(schema: schema)
    guard connection.serverVersion >= 130_000 else {
      throw Failure(
        .configuration, step: "use the server", subject: connection.server,
        cause: "it is PostgreSQL \(connection.serverVersion / 10_000)",
        hint: "rosterd-postgres needs version 13 or later")
    }
    try failing("prepare the session") {
      try connection.run("SET standard_conforming_strings = on; SET client_encoding = 'UTF8'; SET lock_timeout = '5s'")
      try noticeLostClient()
      try refuseForeignSchema()
      if !isReading { try lock() }
    }
  }

  /// nil if the schema has no rows of a cache yet.
  package func state() throws -> State? {
    try failing("read the position") {
      guard try exists(ReplicaNames.position) else { return nil }
      let rows = try connection.run(
        """
        SELECT feed, change, snapshot, sync, cache, layout, replaced,
          to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        FROM \(sql.name(ReplicaNames.position))
        """)
      guard let row = rows.first?.map({ $0 ?? "" }), row.count == 8 else { return nil }
      let position = ReplicaPosition(
        feed: row[0], change: Int64(row[1]) ?? 0, snapshot: Int64(row[2]) ?? 0, sync: Int64(row[3]) ?? 0)
      return State(position: position, cache: row[4], replaced: Int(row[6]) ?? 0, appliedAt: row[7], layout: row[5])
    }
  }

  /// Removes everything that rosterd-postgres made. The schema stays if something else is in it.
  /// - Returns: The number of removed tables, and whether the schema exists afterwards.
  package func drop() throws -> (tables: Int, schemaStays: Bool) {
    try failing("remove the tables") {
      try connection.transaction {
        let position = ReplicaNames.position
        let hasMadeSchema = try listsTables() && read("SELECT made_schema FROM \(sql.name(position))") == "t"
        let names = try ownTables() + (hasPosition() ? [position] : [])
        if !names.isEmpty { try connection.run("DROP TABLE \(names.map(sql.name).joined(separator: ", "))") }
        if hasMadeSchema { try dropSchema() }
        let stays = try read("SELECT count(*) FROM pg_namespace WHERE nspname = $1", with: [schema]) == "1"
        return (names.count, stays)
      }
    }
  }

  private func dropSchema() throws {
    try connection.run("SAVEPOINT schema")
    do { try connection.run("DROP SCHEMA \(sql.schema)") } catch let error as PostgresFailure where error.isDependedOn {
      try connection.run("ROLLBACK TO schema")
    }
  }

  /// Tables that hold rows of a cache. The position lists them, and the comments of those of an earlier version say it.
  func ownTables() throws -> [String] {
    let listed = "OR c.oid IN (SELECT unnest(tables) FROM \(sql.name(ReplicaNames.position)))"
    return try connection.run(
      """
      SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> $3
        AND (obj_description(c.oid, 'pg_class') LIKE '%' || $2 \(listsTables() ? listed : ""))
      """, with: [schema, ReplicaSQL.mark, ReplicaNames.position]
    ).compactMap { $0.first ?? nil }
  }

  /// False for the position of an earlier version.
  func listsTables() throws -> Bool { try positionColumns(["tables", "made_schema"]) == 2 }

  /// True if the table with that name is the position of a copy.
  private func hasPosition() throws -> Bool {
    let columns = ["feed", "change", "snapshot", "layout"]
    if try positionColumns(columns) == columns.count { return true }
    let comment = try read(
      "SELECT obj_description(to_regclass($1), 'pg_class')", with: [sql.name(ReplicaNames.position)])
    return comment?.hasSuffix(ReplicaSQL.mark) ?? false
  }

  /// How many of the columns the position has.
  private func positionColumns(_ names: [String]) throws -> Int {
    let count = try read(
      """
      SELECT count(*) FROM pg_attribute
      WHERE attrelid = to_regclass($1) AND NOT attisdropped AND attname IN (\(names.map(literal).joined(separator: ", ")))
      """, with: [sql.name(ReplicaNames.position)])
    return count.flatMap { Int($0) } ?? 0
  }

  /// The first value of the first row.
  private func read(_ query: String, with parameters: [String?] = []) throws -> String? {
    try connection.run(query, with: parameters).first?.first ?? nil
  }

  // MARK: Schema

  /// Tables with rosterd's comment and without a position are copied again (D7.2), also if a user has views on them.
  private func refuseForeignSchema() throws {
    if try hasPosition() { return }
    let found = try connection.run(
      """
      SELECT NULLIF(c.relname, o.name) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
        LATERAL (SELECT CASE WHEN obj_description(c.oid, 'pg_class') LIKE '%' || $2 THEN c.relname END) o(name)
      WHERE n.nspname = $1 AND c.relkind IN ('r', 'v', 'm', 'p', 'f', 'S')
      ORDER BY c.relkind IN ('v', 'm'), o.name NULLS FIRST LIMIT 1
      """, with: [schema, ReplicaSQL.mark])
    guard let name = found.first?.first ?? nil else { return }
    throw Failure(
      .configuration, step: "use the schema", subject: schema,
      cause: "it belongs to something else: it has the table \(name) and no position of rosterd",
      hint: "name another one with --schema; nothing was changed")
  }

  /// The session of a program that is gone keeps the lock of the schema until the server notices, within 30 s here. Not
  /// every version and system has each of these settings.
  private func noticeLostClient() throws {
    for setting in [
      "tcp_keepalives_idle = 10", "tcp_keepalives_interval = 5", "tcp_keepalives_count = 4", "tcp_user_timeout = 30000",
      "client_connection_check_interval = '10s'",
    ] {
      do { try connection.run("SET \(setting)") } catch is PostgresFailure {}
    }
  }

  private func lock() throws {
    let taken = try read(
      "SELECT pg_try_advisory_lock(hashtext('rosterd-postgres'), hashtext($1))", with: [schema])
    if taken == "t" { return }
    throw Failure(
      .owned, step: "follow into the schema", subject: schema, cause: "another rosterd-postgres writes to it",
      hint: "stop that one, or name another schema with --schema")
  }

  func exists(_ table: String) throws -> Bool {
    try read("SELECT to_regclass($1) IS NOT NULL", with: [sql.name(table)]) == "t"
  }

  /// Makes what the server reports a `Failure`.
  func failing<Result>(_ step: String, body: () throws -> Result) throws -> Result {
    do { return try body() } catch var error as PostgresFailure {
      if error.isReadOnly { error.isStandby = (try? read("SELECT pg_is_in_recovery()")) == "t" }
      throw error.failure(step)
    }
  }
}
