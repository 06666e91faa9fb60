package import RosterCore

extension Replica {
  /// The rows that a transaction copies from the cache.
  package enum Scope: Sendable, Equatable {
    /// All rows.
    case whole
    /// Rows of these resources' changed records, and new rows of the tables that only grow.
    case changed(Set<String>)
  }

  /// Hands over the rows of a table, within the scope.
  package typealias Rows = (ReplicaTable, ([FieldValue]) throws -> Void) throws -> Void
  /// Hands over the ids of the changed records of a resource.
  package typealias IDs = (String, (Int64) throws -> Void) throws -> Void

  /// Rows of a snapshot that are on the server and that readers do not see yet.
  package struct Staged {
    fileprivate var batch: Batch
    fileprivate var scope: Scope
    fileprivate var exchange: TableExchange
    fileprivate var replaced = 0
    fileprivate var scopes: [String: String] = [:]
  }

  /// Which tables are made again. Names as PostgreSQL keeps them.
  fileprivate struct TableExchange {
    /// Tables whose rows are in new tables, which get their names.
    var made: Set<String> = []
    /// Tables that are dropped: those that are made again, and those that the batch lacks.
    var old: [String] = []

    func makes(_ table: ReplicaTable) -> Bool { made.contains(postgresName(table.name)) }
  }

  /// Sends the rows to the server. After that the cache need not be read any more.
  /// - Parameter isRemade: Makes new tables even if the old ones seem to fit.
  package func stage(_ batch: Batch, scope: Scope, isRemade: Bool, rows: Rows, ids: IDs) throws -> Staged {
    let known = try state()
    if !isRemade, let known, !known.isOfCache(batch) { throw otherCache(known) }
    if known == nil { try makeSchema() }
    let exchange = try self.exchange(for: batch, known: known, isRemade: isRemade)
    try refuseAlteredColumns(batch.tables.filter { isConcerned($0, scope: scope) && !exchange.makes($0) })
    var staged = Staged(batch: batch, scope: scope, exchange: exchange)
    staged.replaced = scope == .whole ? 0 : known?.replaced ?? 0
    for (index, table) in batch.tables.enumerated() {
      staged.replaced +=
        try exchange.makes(table)
        ? fill(table, index: index, isFirst: known == nil, rows: rows)
        : stageRows(table, index: index, scope: scope, rows: rows)
    }
    staged.scopes = try stageIDs(scope, ids: ids)
    return staged
  }

  /// Makes the tables equal to the staged rows, and moves the position.
  package func publish(_ staged: Staged) throws {
    try merge(staged)
    try swap(staged)
    try move(to: staged.batch, replaced: staged.replaced)
  }

  /// A table with the same columns stays, unless a foreign key of it reads one that does not.
  private func exchange(for batch: Batch, known: State?, isRemade: Bool) throws -> TableExchange {
    if !isRemade, known?.fits(batch) == true { return TableExchange() }
    var made = Set(batch.tables.map { postgresName($0.name) })
    let (all, own) = (made, try ownTables())
    if !isRemade, let known {
      let lacking = known.lacking(batch)
      let replaced = own.filter { lacking.contains($0) || !all.contains($0) }
      made.formIntersection(try lacking.union(readers(of: replaced)))
    }
    return TableExchange(made: made, old: own.filter { made.contains($0) || !all.contains($0) })
  }

  /// Those tables, and the tables of the schema whose foreign keys read them.
  private func readers(of tables: [String]) throws -> [String] {
    try connection.run(sql.readers(of: tables), with: [schema]).compactMap { $0.first ?? nil }
  }

  /// A value might be changed by the type that a user has given to a column.
  private func refuseAlteredColumns(_ tables: [ReplicaTable]) throws {
    guard !tables.isEmpty, let found = try connection.run(sql.alteredColumn(tables)).first else { return }
    throw Failure(
      .cannotWrite, step: "copy the snapshot", subject: connection.server,
      cause: "the column \(found[1] ?? "") of \(found[0] ?? "") is missing or has another type",
      hint: PostgresFailure.freshHint)
  }

  /// Two daemons that share a schema would replace each other's tables.
  private func otherCache(_ known: State) -> Failure {
    Failure(
      .configuration, step: "use the schema", subject: schema,
      cause: "it has the tables of another cache: \(known.cache)\(known.upstream.map { " of \($0)" } ?? "")",
      hint: "name another schema with --schema, or replace those tables once: rosterd-postgres sync --fresh")
  }

  /// A role may own the schema without being allowed to make one.
  private func makeSchema() throws {
    let isThere = try connection.run("SELECT FROM pg_namespace WHERE nspname = $1", with: [schema]).count == 1
    if !isThere { try connection.run("CREATE SCHEMA \(sql.schema)") }
    try connection.run(sql.createPosition(madeSchema: !isThere))
  }

  private func move(to batch: Batch, replaced: Int) throws {
    let position = batch.position
    let names = batch.tables.map { literal(postgresName($0.name)) }.joined(separator: ", ")
    let values: [String?] = [
      position.feed, "\(position.change)", "\(position.snapshot)", "\(position.sync)", batch.cache, batch.layout,
      "\(replaced)", batch.upstream,
    ]
    try connection.run(
      """
      INSERT INTO \(sql.name(ReplicaNames.position))
        (feed, change, snapshot, sync, cache, layout, replaced, upstream, applied_at, table_names)
      VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5, $6, $7::bigint, $8, clock_timestamp(), ARRAY[\(names)])
      ON CONFLICT (one) DO UPDATE SET feed = excluded.feed, change = excluded.change, snapshot = excluded.snapshot,
        sync = excluded.sync, cache = excluded.cache, layout = excluded.layout, replaced = excluded.replaced,
        upstream = excluded.upstream, applied_at = excluded.applied_at,
        table_names = excluded.table_names
      """, with: values)
  }

  // MARK: Into the tables that are there

  private func stageRows(_ table: ReplicaTable, index: Int, scope: Scope, rows: Rows) throws -> Int {
    guard isConcerned(table, scope: scope) else { return 0 }
    if hasOnlyNewRows(table, scope: scope) { return try copy(table, into: sql.name(table.name), rows: rows) }
    try connection.run(sql.stage(table, as: staged(index)))
    let replaced = try copy(table, into: quoted(staged(index)), rows: rows)
    // Without statistics the server expects thousands of rows, and reads the whole table for one.
    try connection.run("ANALYZE \(quoted(staged(index)))")
    return replaced
  }

  /// The tables stay: grants, views, indexes and foreign keys of users are not touched.
  private func merge(_ all: Staged) throws {
    let tables = all.batch.tables.enumerated().filter { _, table in
      isConcerned(table, scope: all.scope) && !all.exchange.makes(table)
    }
    for (index, table) in tables.reversed() { try remove(table, index: index, all: all) }
    for (index, table) in tables where !hasOnlyNewRows(table, scope: all.scope) {
      try self.index(sql.upsert(table, staged: staged(index)), of: table, rows: quoted(staged(index)))
    }
  }

  /// PostgreSQL has a limit on the bytes of a key after compression, and names no record.
  /// - Parameters:
  ///   - statement: Adds the keys to an index.
  ///   - rows: Quoted name of a table that has the rows before the statement.
  private func index(_ statement: String, of table: ReplicaTable, rows: String) throws {
    guard !table.textKeys.isEmpty else {
      try connection.run(statement)
      return
    }
    do { try connection.run("SAVEPOINT indexing; \(statement); RELEASE indexing") } catch let error as PostgresFailure
      where error.isTooLarge
    {
      try connection.run("ROLLBACK TO indexing")
      let found = try connection.run(sql.longestKey(table, rows: rows))
      guard let key = found.first, let bytes = key[0] else { throw error }
      let record = key[1].map { "record \($0)" } ?? "a record"
      throw Failure(
        .cannotWrite, step: "copy the snapshot", subject: connection.server,
        cause: """
          the key of \(record) in the table \(table.name) has \(bytes) bytes \
          (column \(table.textKeys.joined(separator: ", ")))
          """,
        hint: "PostgreSQL takes about 2,700: give the resource another key, or leave the record out with `where`")
    }
  }

  private func isConcerned(_ table: ReplicaTable, scope: Scope) -> Bool {
    guard case .changed(let resources) = scope else { return true }
    return switch table.role {
    case .records(let resource), .elements(let resource, _, _): resources.contains(resource)
    case .whole, .appended: true
    }
  }

  /// True if the table lacks all rows of the scope. Staging them would cost as much as the copy itself.
  private func hasOnlyNewRows(_ table: ReplicaTable, scope: Scope) -> Bool {
    guard case .appended = table.role, scope != .whole else { return false }
    return table.name == "changes"
  }

  private func staged(_ index: Int) -> String { "staged_\(index)" }

  /// Temporary tables with the ids of the changed records, by resource.
  private func stageIDs(_ scope: Scope, ids: IDs) throws -> [String: String] {
    guard case .changed(let resources) = scope else { return [:] }
    var names: [String: String] = [:]
    for (index, resource) in resources.sorted().enumerated() {
      let name = "staged_ids_\(index)"
      try connection.run("CREATE TEMPORARY TABLE \(name) (id bigint) ON COMMIT DROP")
      var text = CopyText()
      try connection.copy("COPY \(name) FROM STDIN") { put in
        try ids(resource) { try Self.append([.integer($0)], to: &text, put: put) }
        try Self.flush(&text, put: put)
      }
      try connection.run("ANALYZE \(name)")
      names[resource] = name
    }
    return names
  }

  private func remove(_ table: ReplicaTable, index: Int, all: Staged) throws {
    switch table.role {
    case .appended(let column) where all.scope != .whole:
      try connection.run(sql.expire(table, by: column, kept: all.batch.kept[table.name] ?? KeptRows(first: nil)))
    case .records(let resource), .elements(let resource, _, _):
      try delete(table, index: index, ids: all.scopes[resource])
    case .whole, .appended: try delete(table, index: index, ids: nil)
    }
  }

  private func delete(_ table: ReplicaTable, index: Int, ids: String?) throws {
    for statement in sql.delete(table, staged: staged(index), ids: ids) { try connection.run(statement) }
  }

  // MARK: Into new tables

  /// - Parameter isFirst: The schema is new, so that its tables have no subscriber yet.
  private func fill(_ table: ReplicaTable, index: Int, isFirst: Bool, rows: Rows) throws -> Int {
    let name = sql.name(made(index))
    try connection.run(sql.create(table, as: made(index), isUnlogged: !isFirst))
    let replaced = try copy(table, into: name, rows: rows)
    if !isFirst { try connection.run("ALTER TABLE \(name) SET LOGGED") }
    return replaced
  }

  /// Only the exchange of the names locks readers out, for a moment.
  private func swap(_ all: Staged) throws {
    let exchange = all.exchange
    if exchange.made.isEmpty, exchange.old.isEmpty { return }
    let tables = all.batch.tables.enumerated().filter { exchange.makes($0.element) }
    let present = Dictionary(
      all.batch.tables.enumerated().map { ($1.name, exchange.makes($1) ? made($0) : $1.name) }, uniquingKeysWith: { $1 }
    )
    let taken = try connection.run(sql.names(besides: exchange.old), with: [schema]).compactMap { $0.first ?? nil }
    let constraints = sql.constraints(tables.map(\.element), present: present, taken: taken)
    for ((index, table), constraints) in zip(tables, constraints) {
      let rows = sql.name(made(index))
      for (number, constraint) in constraints.enumerated() {
        let name = quoted("\(made(index))_\(number)")
        try self.index(
          "ALTER TABLE \(rows) ADD CONSTRAINT \(name) \(constraint.definition)", of: table, rows: rows)
      }
      for comment in sql.comments(table, on: made(index)) { try connection.run(comment) }
      try connection.run("ANALYZE \(rows)")
    }
    let filled = zip(tables, constraints).map { (made: made($0.offset), table: $0.element, constraints: $1) }
    try TableSwap(self).swap(filled, old: exchange.old)
  }

  /// Name of a table that is being filled. No table of a cache has a space in its name.
  private func made(_ index: Int) -> String { "rosterd new \(index)" }

  // MARK: Rows

  /// Bytes that are handed to libpq at a time.
  private static let portion = 1 << 18

  private func copy(_ table: ReplicaTable, into name: String, rows: Rows) throws -> Int {
    var text = CopyText(table)
    do {
      try connection.copy("COPY \(name) (\(sql.list(table.columns.map(\.name)))) FROM STDIN") { put in
        try rows(table) { try Self.append($0, to: &text, put: put) }
        try Self.flush(&text, put: put)
      }
    } catch let error as PostgresFailure where error.isTooLarge {
      throw try tooLarge(table, error: error, rows: rows)
    }
    return text.replaced
  }

  /// A page of 8 kB must have the whole row. A value that is stored elsewhere still takes up to 24 bytes of it
  /// (PostgreSQL manual, "TOAST"). The server does not name the record.
  private func tooLarge(_ table: ReplicaTable, error: PostgresFailure, rows: Rows) throws -> Failure {
    var largest = (bytes: 0, record: "")
    try rows(table) { row in
      let bytes = row.reduce(0) { $0 + $1.bytesInRow }
      if bytes > largest.bytes { largest = (bytes, row.first?.shown ?? "") }
    }
    return Failure(
      .cannotWrite, step: "copy the snapshot", subject: connection.server,
      cause: """
        the row of record \(largest.record) in the table \(table.name), with \(table.columns.count) columns, is larger \
        than a row of PostgreSQL may be (\(error.message))
        """,
      hint:
        "leave out columns of the definition: `extra` keeps their values, or combine them in a column of the type json"
    )
  }

  private static func append(_ row: [FieldValue], to text: inout CopyText, put: ([UInt8]) throws -> Void) throws {
    text.append(row)
    if text.bytes.count >= portion { try flush(&text, put: put) }
  }

  private static func flush(_ text: inout CopyText, put: ([UInt8]) throws -> Void) throws {
    guard !text.bytes.isEmpty else { return }
    try put(text.bytes)
    text.removeRows()
  }
}
