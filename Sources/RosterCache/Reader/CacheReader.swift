import Glibc
package import RosterCore

/// Reads a cache without a daemon and without writing, for any user who may read the file. The definitions come from
/// the table `resources`. Each call reads one snapshot. Throws a `Failure` (73).
package struct CacheReader {
  let database: Database
  /// The path that the caller gave.
  package let path: String

  /// Opens the cache at `path`, which a daemon may be using.
  package init(path: String) throws { try self.init(path, access: .readOnly) }

  /// Opens the cache that rosterd writes: another file while a cache of an older version has the path.
  package init(writtenFor path: String) throws {
    try self.init(OlderCache.file(of: path, Self.inspect(path)), access: .readOnly)
  }

  /// Opens the cache at `path` after its log was written back and removed. Does not create the log again.
  package init(closed path: String) throws { try self.init(path, access: .immutable) }

  private init(_ path: String, access: Database.Access) throws {
    self.path = path
    switch try Self.inspect(path) {
    case .ours: break
    case .absent:
      throw Self.refusal(path, cause: "there is no cache yet", hint: "start rosterd, or name its cache with --cache")
    case .older(let version): throw Self.older(path, version: version)
    case .damaged:
      throw Self.refusal(
        path, cause: "the file is damaged", hint: "start rosterd, which moves it aside and pulls all again")
    }
    do {
      database = try Database(path: path, access: access)
      database.wait(milliseconds: Self.lockTimeout)
      let version = try database.count("PRAGMA user_version")
      if version > Schema.version { throw Self.newer(path, version: version) }
      if version < Schema.version { throw Self.older(path, version: version) }
      try Self.findTables(database)
    } catch let error as SQLiteError {
      throw Self.failure(error, path: path)
    }
  }

  /// Reads through an open connection.
  init(_ path: String, in database: Database) {
    self.path = path
    self.database = database
  }

  /// True if a snapshot was published.
  package func hasSnapshot() throws -> Bool {
    try read { try database.first("SELECT snapshot IS NOT NULL FROM main.cache_info") { $0.int(0) } == 1 }
  }

  /// Number of requests that the lists of the last sync that published or verified the snapshot need; nil before the
  /// first. These are its pages, and requests without a page, such as those that try a total.
  package func requests() throws -> Int? {
    try read {
      try database.first(
        """
        SELECT pages + coalesce((SELECT sum(\(Self.withoutPage("s"))) FROM main.sync_resources s
          WHERE s.sync_id = \(FixedTables.verified)), 0)
        FROM main.cache_info WHERE verified_at IS NOT NULL
        """
      ) { $0.int(0) }
    }
  }

  /// Number of requests of a row of `sync_resources` beyond its pages, as SQL. A resumed sync has fewer requests than
  /// pages, and so has a resource whose list another one has requested.
  private static func withoutPage(_ row: String) -> String {
    "max(coalesce(\(row).requests, 0) - \(row).pages, 0)"
  }

  /// Requests of the last pulls of each resource, by name. A resource without such a row has its pages.
  package func pullCosts() throws -> [String: PullCost] {
    try plainCosts().merging(childCosts()) { _, child in child }
  }

  private func childCosts() throws -> [String: PullCost] {
    let rows = try read {
      try database.rows(
        """
        SELECT name, pages + coalesce((SELECT \(Self.withoutPage("s")) FROM main.sync_resources s
          WHERE s.resource = name AND s.lists >= a.lists ORDER BY s.sync_id DESC LIMIT 1), 0),
          lists, \(Self.usualRequests("name", lists: "a.lists"))
        FROM (SELECT r.name AS name, r.pages AS pages, sum(l.pages > 0) AS lists
          FROM main.resources r JOIN main.cache_resources c ON c.name = r.name JOIN main.cache_lists l ON l.resource_id = c.id
          WHERE r.parent IS NOT NULL AND r.proof IS NOT NULL GROUP BY r.name, r.pages) a
        """
      ) { row in
        let usual = row.isNull(3) ? nil : row.real(3)
        return (row.text(0), PullCost(whole: row.int(1), incremental: usual, lists: row.int(2)))
      }
    }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  /// Average requests for a child in a usual sync, as SQL; NULL without such a sync. The first sync, and any other that
  /// requests all lists, is not a usual one.
  static func usualRequests(_ name: String, lists: String) -> String {
    """
    (SELECT avg(u.requests) FROM (SELECT requests FROM main.sync_resources
      WHERE resource = \(name) AND lists < \(lists) AND sync_id > \(firstSync(name))
      ORDER BY sync_id DESC LIMIT \(usualSyncs)) u)
    """
  }

  /// The first known sync of a resource, as SQL.
  static func firstSync(_ name: String) -> String {
    "(SELECT min(f.sync_id) FROM main.sync_resources f WHERE f.resource = \(name))"
  }

  /// Number of syncs whose average is that of a usual sync.
  private static let usualSyncs = 20

  private func plainCosts() throws -> [String: PullCost] {
    func last(_ requests: String, isWhole: Bool) -> String {
      """
      (SELECT \(requests) FROM main.sync_resources s WHERE s.resource = r.name AND whole \(isWhole ? "> 0" : "= 0")
        AND requests > 0 ORDER BY sync_id DESC LIMIT 1)
      """
    }
    let rows = try read {
      try database.rows(
        """
        SELECT name, coalesce(\(last("max(requests, s.pages)", isWhole: true)), pages),
          \(last("requests", isWhole: false))
        FROM main.resources r WHERE proof IS NOT NULL
        """
      ) { ($0.text(0), PullCost(whole: $0.int(1), incremental: $0.optionalInteger(2).map { Double($0) })) }
    }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  /// The latest syncs, newest first.
  package func recent(limit: Int) throws -> [SyncRecord] {
    try latest(SyncsRequest(limit: limit)).map(settled)
  }

  /// The running sync; nil if no sync runs. A user who may not open the lock file also gets an interrupted one.
  package func running() throws -> SyncRecord? {
    try read { try unfinished() }.flatMap { $0.outcome == .running ? $0 : nil }
  }

  /// The path of the database itself, if the cache's path is a link.
  package var resolvedPath: String { (try? CacheFile.resolve(path)) ?? path }

  /// Sizes in bytes of the file and of its log.
  package var sizes: (database: Int64, wal: Int64) { (fileSize(resolvedPath), fileSize(resolvedPath + "-wal")) }

  /// The sync whose row has no end, within a transaction.
  func unfinished() throws -> SyncRecord? {
    try database.first("\(SyncRow.select) WHERE outcome = 'running' ORDER BY id DESC LIMIT 1", read: SyncRow.read)
      .map(settled)
  }

  /// Corrects the row of a sync whose process was killed: the row says `running`, but no process owns the cache.
  func settled(_ row: SyncRecord) -> SyncRecord {
    guard row.outcome == .running, Ownership.isHeld(resolvedPath) == false else { return row }
    var row = row
    row.outcome = .interrupted
    return row
  }

  /// The latest syncs as their rows describe them, newest first.
  func latest(_ request: SyncsRequest) throws -> [SyncRecord] {
    try read {
      let latest = "\(SyncRow.select) ORDER BY id DESC LIMIT ?"
      var syncs = try database.rows(latest, Value(request.limit), read: SyncRow.read)
      guard request.withResources, let oldest = syncs.last?.id else { return syncs }
      var records: [Int64: [String: Int]] = [:]
      try database.forEach(
        "SELECT sync_id, resource, records FROM main.sync_resources WHERE sync_id >= ?", Value(oldest)
      ) { records[$0.integer(0), default: [:]][$0.text(1)] = $0.int(2) }
      for index in syncs.indices { syncs[index].resources = records[syncs[index].id] }
      return syncs
    }
  }

  // MARK: What every reading is made of

  /// One transaction, so that all of an answer is of one snapshot. A reading within another one belongs to it.
  func read<Result>(_ body: () throws -> Result) throws -> Result {
    if database.isInTransaction { return try body() }
    return try failing { try database.transaction("BEGIN", body: body) }
  }

  /// Turns an error of SQLite into a `Failure`.
  func failing<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as SQLiteError { throw Self.failure(error, path: path) }
  }

  /// The tables of a resource in this transaction. Throws `Failure` (1) if the cache has no such resource.
  func tables(_ resource: String) throws -> ResourceTables {
    let found = try database.first("SELECT definition FROM main.resources WHERE name = ?", .text(resource)) {
      try ResourceTables(name: resource, definition: $0.text(0))
    }
    if let found { return found }
    let names = try database.rows("SELECT name FROM main.resources ORDER BY rowid") { $0.text(0) }
    throw Failure(
      .cancelled, step: Self.step, subject: resource, cause: "\(path) has no resource of that name",
      hint: names.isEmpty ? nil : "name one that it has: \(names.joined(separator: ", "))")
  }

  /// A checkpoint or a recovery by the writer may lock the file for a moment.
  private static let lockTimeout: Int32 = 5_000

  private static func findTables(_ database: Database) throws {
    do {
      try database.transaction("BEGIN") { try Schema.look(database) }
    } catch let error as SQLiteError where error.kind == .other {
      throw SQLiteError.damaged(error.message)
    }
  }

  // MARK: Messages

  static let step = "read the cache"

  /// The daemon would find the same fault in the file, but a reader needs another hint.
  private static func inspect(_ path: String) throws -> CacheFile.State {
    do { return try CacheFile.inspect(path) } catch let failure as Failure {
      if access(path, R_OK) != 0, errno == EACCES {
        throw refusal(path, cause: failure.cause, hint: GroupAccess.hint(for: path, isSocket: false))
      }
      throw refusal(
        path, cause: failure.cause,
        hint: "see whether --cache names a cache of this version of rosterd, and whether this user may read it")
    }
  }

  private static func failure(_ error: SQLiteError, path: String) -> Failure {
    switch error.kind {
    case .cannotOpen:
      refusal(
        path, cause: "it cannot be opened (\(error.message))",
        hint: "start rosterd, which makes the -wal and -shm beside it, and see whether this user may read them")
    case .readOnly:
      // SQLITE_READONLY_CANTINIT, _RECOVERY: the -shm is missing or unusable, and only a writer creates it again.
      refusal(
        path, cause: "it needs a recovery by its writer (\(error.message))", hint: "start rosterd, which recovers it")
    default: error.failure(step, path)
    }
  }

  private static func older(_ path: String, version: Int) -> Failure {
    refusal(
      path, cause: "an older rosterd made it (version \(version))",
      hint: "the first sync of the daemon replaces it (rosterctl wait); sqlite3 can read it until then")
  }

  private static func newer(_ path: String, version: Int) -> Failure {
    refusal(path, cause: "a newer rosterd made it (version \(version))", hint: "use the rosterctl of that rosterd")
  }

  private static func refusal(_ path: String, cause: String, hint: String) -> Failure {
    Failure(.cannotWrite, step: step, subject: path, cause: cause, hint: hint)
  }
}
