package import RosterCore

/// The tables of one schema that a cache is copied to. Belongs to one thread.
package final class Replica {
  /// The snapshot that one transaction takes from the cache.
  package struct Batch {
    /// Tables that the snapshot has; records come before their elements.
    package var tables: [ReplicaTable]
    /// The snapshot's place in the feed.
    package var position: ReplicaPosition
    /// Path of the cache, absolute and without links.
    package var cache: String
    /// Address of the API that the snapshot mirrors; nil before the first publication.
    package var upstream: String?
    /// Rows that have not expired, by the names of the appended tables.
    package var kept: [String: KeptRows] = [:]

    /// A batch of that snapshot.
    package init(tables: [ReplicaTable], position: ReplicaPosition, cache: String, upstream: String?) {
      self.tables = tables
      self.position = position
      self.cache = cache
      self.upstream = upstream
    }

    var layout: String { tables.map(\.signature).joined(separator: "\n") }
  }

  /// The contents of the schema.
  package struct State: Sendable, Equatable {
    /// Place in the feed.
    package var position: ReplicaPosition
    /// Path of the cache that it was copied from.
    package var cache: String
    /// Address of the API that this cache mirrored; nil if it had no snapshot yet.
    package var upstream: String?
    /// Values in which a character that PostgreSQL refuses was replaced, since the last whole copy.
    package var replaced: Int
    /// Time of the last transaction, RFC 3339.
    package var appliedAt: String
    /// Signature of its tables.
    fileprivate var layout: String

    /// True if that batch is of the same cache. A cache that was moved keeps its feed; a cache that was made again at
    /// the same path has the same upstream.
    package func isOfCache(_ batch: Batch) -> Bool {
      if position.feed == batch.position.feed { return true }
      return cache == batch.cache && (upstream == nil || upstream == batch.upstream)
    }

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

  /// Checks server and schema.
  /// - Throws: `Failure` (78) if the server is older than version 13, or if the schema belongs to something else.
  package init(_ connection: PostgresConnection, schema: String) throws {
    self.connection = connection
    self.schema = schema
    sql = ReplicaSQL(schema: schema)
    guard connection.serverVersion >= 130_000 else {
      throw Failure(
        .configuration, step: "use the server", subject: connection.server,
        cause: "it is PostgreSQL \(connection.serverVersion / 10_000)",
        hint: "rosterd-postgres needs version 13 or later")
    }
    try failing("look at the schema") { try refuseForeignSchema() }
  }

  /// One transaction that has the schema for itself: readers see the state before it until it commits.
  ///
  /// Settings and lock are those of the transaction. Between two transactions, a connection pool may give the session
  /// to another program.
  /// - Throws: `Failure` (75) if another process is writing to the schema.
  package func transaction<Result>(_ step: String, _ body: () throws -> Result) throws -> Result {
    try failing(step) {
      try connection.transaction {
        try connection.run(ReplicaSQL.limits)
        try noticeLostClient()
        try lock()
        return try body()
      }
    }
  }

  /// nil if the schema has no rows of a cache yet.
  package func state() throws -> State? {
    try failing("read the position") {
      guard try exists(ReplicaNames.position) else { return nil }
      let rows = try connection.run(
        """
        SELECT feed, change, snapshot, sync, cache, layout, replaced,
          to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), upstream
        FROM \(sql.name(ReplicaNames.position))
        """)
      guard let values = rows.first, values.count == 9 else { return nil }
      let row = values.map { $0 ?? "" }
      let position = ReplicaPosition(
        feed: row[0], change: Int64(row[1]) ?? 0, snapshot: Int64(row[2]) ?? 0, sync: Int64(row[3]) ?? 0)
      return State(
        position: position, cache: row[4], upstream: values[8], replaced: Int(row[6]) ?? 0, appliedAt: row[7],
        layout: row[5])
    }
  }

  /// Removes everything that rosterd-postgres made. The schema stays if something else is in it.
  /// - Returns: The number of removed tables, and whether the schema exists afterwards.
  package func drop() throws -> (tables: Int, schemaStays: Bool) {
    try transaction("remove the tables") {
      let position = ReplicaNames.position
      let hasPosition = try hasPosition()
      let hasMadeSchema = try hasPosition && read("SELECT made_schema FROM \(sql.name(position))") == "t"
      let names = try ownTables() + (hasPosition ? [position] : [])
      if !names.isEmpty { try connection.run("DROP TABLE \(names.map(sql.name).joined(separator: ", "))") }
      if hasMadeSchema { try dropSchema() }
      let stays = try read("SELECT count(*) FROM pg_namespace WHERE nspname = $1", with: [schema]) == "1"
      return (names.count, stays)
    }
  }

  private func dropSchema() throws {
    try connection.run("SAVEPOINT schema")
    do { try connection.run("DROP SCHEMA \(sql.schema)") } catch let error as PostgresFailure where error.isDependedOn {
      try connection.run("ROLLBACK TO schema")
    }
  }

  /// Tables that hold rows of a cache. The position lists them; without it, their comments say it.
  func ownTables() throws -> [String] {
    let listed = "OR c.relname IN (SELECT unnest(table_names) FROM \(sql.name(ReplicaNames.position)))"
    return try connection.run(
      """
      SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> $3
        AND (obj_description(c.oid, 'pg_class') LIKE '%' || $2 \(hasPosition() ? listed : ""))
      """, with: [schema, ReplicaSQL.mark, ReplicaNames.position]
    ).compactMap { $0.first ?? nil }
  }

  /// True if the table with that name is the position of a copy.
  private func hasPosition() throws -> Bool {
    let columns = ["feed", "change", "snapshot", "layout", "made_schema", "table_names"]
    let count = try read(
      """
      SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass($1) AND NOT attisdropped
        AND attname IN (\(columns.map(literal).joined(separator: ", ")))
      """, with: [sql.name(ReplicaNames.position)])
    return count.flatMap { Int($0) } == columns.count
  }

  /// The first value of the first row.
  private func read(_ query: String, with parameters: [String?] = []) throws -> String? {
    try connection.run(query, with: parameters).first?.first ?? nil
  }

  // MARK: Schema

  /// Tables with rosterd's comment and without a position are copied again, also if a user has views on them.
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

  /// Some systems have no such settings.
  private func noticeLostClient() throws {
    do { try connection.run("SAVEPOINT client; \(ReplicaSQL.lostClient); RELEASE client") } catch is PostgresFailure {
      try connection.run("ROLLBACK TO client")
    }
  }

  private func lock() throws {
    let taken = try read(
      "SELECT pg_try_advisory_xact_lock(hashtext('rosterd-postgres'), hashtext($1))", with: [schema])
    if taken == "t" { return }
    throw Failure(
      .owned, step: "copy into the schema", subject: schema, cause: "another rosterd-postgres is writing to it",
      hint: "wait for the end of its copy, or name another schema with --schema")
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
