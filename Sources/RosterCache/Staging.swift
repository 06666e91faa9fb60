internal import Logging

/// The file of what was pulled and is not yet published, attached beside the cache as `staging`. It can be lost at any
/// time at no more cost than a full pull: whatever does not fit the cache is dropped with the file.
extension Cache {
  private static let stagingVersion = 4

  /// `roster.db` → `roster.staging.db`
  nonisolated var stagingPath: String {
    (path.hasSuffix(".db") ? String(path.dropLast(3)) : path) + ".staging.db"
  }

  func attachStaging(_ database: Database) throws {
    do {
      try attach(database)
      guard try database.first("SELECT 1 FROM staging.info", read: { $0.int(0) }) != nil else {
        try renewFeed(database)
        return try introduce(database)
      }
      let reason = try mismatch(database)
      if try !isCacheKnown(database) {
        try renewFeed(database)
        if reason == nil { try adopt(database) }
      }
      if let reason { try renewStaging(database, because: reason) }
    } catch let error as SQLiteError where [.damaged, .other].contains(error.kind) {
      try renewFeed(database)
      try renewStaging(database, because: "it cannot be read: \(error.message)")
    }
  }

  func renewStaging(_ database: Database, because reason: String) throws {
    logger.notice("staged pages are dropped: \(reason)", metadata: ["path": "\(stagingPath)"])
    // Not attached where attaching is what failed.
    try? database.execute("DETACH staging")
    try CacheFile.remove(stagingPath)
    try attach(database)
    try introduce(database)
  }

  /// What was published counts as such: its rows are not needed any more, only what to ask upstream with.
  func settle(_ database: Database, pages: Int) throws {
    try database.transaction("BEGIN") {
      try database.run("DELETE FROM staging.pages WHERE page > ?1 OR page = 0", Value(pages))
      try database.run("DELETE FROM staging.rejected WHERE page > ?1 OR page = 0", Value(pages))
      try database.run("UPDATE staging.pages SET published = 1 WHERE NOT published")
      // Without WHERE, which drops all pages of the table at once
      // (sqlite.org/lang_delete.html#the_truncate_optimization).
      try database.run("DELETE FROM staging.records")
      try database.run(
        """
        UPDATE staging.info SET pending = NULL, pending_pages = NULL,
          (snapshot, published_at) = (SELECT snapshot, published_at FROM main.cache_info)
        """)
    }
  }

  private func attach(_ database: Database) throws {
    try CacheFile.touch(stagingPath, CacheFile.privateMode)
    try database.run("ATTACH ? AS staging", .text(stagingPath))
    // secure_delete, which Debian turns on, would write every emptied page once more. A commit that a power failure
    // takes back costs a page; one that a kill takes back there is none (sqlite.org/pragma.html#pragma_synchronous).
    // While the file has nothing to lose, it is not flushed at all.
    try database.execute(
      """
      PRAGMA staging.page_size = \(Self.stagingPageBytes); PRAGMA staging.synchronous = OFF; PRAGMA staging.journal_mode = WAL;
      PRAGMA staging.synchronous = NORMAL; PRAGMA staging.secure_delete = OFF;
      PRAGMA staging.journal_size_limit = \(Self.stagingLogLimit); PRAGMA staging.cache_size = -\(Self.pageCache);
      """)
    database.checkpoint(every: Self.stagingCheckpoint)
    let version = try database.first("PRAGMA staging.user_version") { $0.int(0) } ?? 0
    if version == 0 { try database.transaction("BEGIN") { try database.execute(tables) } }
    try database.execute("CREATE TEMP TABLE IF NOT EXISTS seen(id INTEGER PRIMARY KEY)")
    try database.execute("CREATE TEMP TABLE IF NOT EXISTS missing(id INTEGER PRIMARY KEY)")
    try database.execute(
      """
      CREATE TEMP TABLE IF NOT EXISTS delta(
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, indexed INTEGER NOT NULL, episodes INTEGER NOT NULL)
      """)
  }

  /// Tells an empty staging whose it is.
  private func introduce(_ database: Database) throws {
    try database.run(
      """
      INSERT INTO staging.info SELECT 1, i.feed, c.snapshot, c.published_at, ?1, NULL, NULL, NULL, NULL, ?2
      FROM main.cache_identity i, main.cache_info c
      """, .text(upstream), Value(files.database?.text))
  }

  /// Why the staging is not of this cache; nil: it is. Ends first what a crash between the two commits of a publish
  /// left open.
  private func mismatch(_ database: Database) throws -> String? {
    let version = try database.first("PRAGMA staging.user_version") { $0.int(0) }
    guard version == Self.stagingVersion else { return "another version of rosterd made it" }
    let ofFeed = try database.first(
      """
      SELECT 1 FROM staging.info s JOIN main.cache_identity i ON i.feed = s.feed WHERE s.upstream = ?1
      """, .text(upstream)
    ) { $0.int(0) }
    guard ofFeed != nil else { return "it is of another upstream or cache" }
    let committed = try database.first(
      """
      SELECT s.pending_pages FROM staging.info s JOIN main.syncs y ON y.id = s.pending
      WHERE y.outcome IN ('published', 'unchanged')
      """
    ) { $0.int(0) }
    if let committed { try settle(database, pages: committed) }
    let ofSnapshot = try database.first(
      """
      SELECT 1 FROM staging.info s JOIN main.cache_info c
      ON s.snapshot IS c.snapshot AND s.published_at IS c.published_at
      """
    ) { $0.int(0) }
    return ofSnapshot == nil ? "it is of another snapshot" : nil
  }

  /// Whether this file is the one that was written last. Where a backup was put back, ids of `changes` that somebody
  /// has followed already would be given out again. The staging knows: it names the file, and nothing that it counts as
  /// published can be newer.
  private func isCacheKnown(_ database: Database) throws -> Bool {
    let version = try database.first("PRAGMA staging.user_version") { $0.int(0) }
    guard version == Self.stagingVersion else { return false }
    let known = try database.first(
      """
      SELECT 1 FROM staging.info s, main.cache_identity i, main.cache_info c
      WHERE s.feed = i.feed AND s.file = ?1 AND (s.snapshot IS NULL OR s.snapshot < c.snapshot
        OR (s.snapshot = c.snapshot AND s.published_at IS c.published_at))
      """, Value(files.database?.text)
    ) { $0.int(0) }
    return known != nil
  }

  /// Its own commit before the staging learns of it: a crash between them costs another new feed.
  func renewFeed(_ database: Database) throws {
    try database.run("UPDATE main.cache_identity SET feed = lower(hex(randomblob(16)))")
    let wasFollowed = try database.first("SELECT snapshot IS NOT NULL FROM main.cache_info") { $0.int(0) != 0 }
    guard wasFollowed == true else { return }
    logger.notice(
      "the cache may not be the one that was written last: its feed is a new one", metadata: ["path": "\(path)"])
  }

  /// Pulled pages stay with a cache that was copied together with them.
  private func adopt(_ database: Database) throws {
    try database.run(
      "UPDATE staging.info SET feed = (SELECT feed FROM main.cache_identity), file = ?1", Value(files.database?.text))
  }

  /// Four times SQLite's own: a publish passes over all pulled rows a few times, and the first of 50,000 pages takes
  /// about 6% less CPU time.
  private static let stagingPageBytes = 16_384
  /// Frames: 16 MiB of log, so that few pages are written back twice.
  private static let stagingCheckpoint: Int32 = 1_000
  private static let stagingLogLimit = 0

  private var tables: String {
    """
    CREATE TABLE staging.info(
      one INTEGER PRIMARY KEY CHECK (one = 1), feed TEXT NOT NULL, snapshot INTEGER, published_at TEXT,
      upstream TEXT NOT NULL, pending INTEGER, pending_pages INTEGER, held_at REAL, held_until REAL,
      file TEXT
    );
    -- page 0: the answers to questions by id. fresh: how many of its ids no other page had brought.
    CREATE TABLE staging.pages(
      page INTEGER PRIMARY KEY, published INTEGER NOT NULL, etag TEXT, last_modified TEXT,
      count INTEGER NOT NULL, pages INTEGER NOT NULL, received_at REAL NOT NULL,
      characters INTEGER NOT NULL, fresh INTEGER NOT NULL, rejects INTEGER NOT NULL, unknown INTEGER NOT NULL,
      ids TEXT NOT NULL
    );
    CREATE TABLE staging.records(
      id INTEGER PRIMARY KEY, page INTEGER NOT NULL, \(Columns.texts.map { "\($0) TEXT NOT NULL" }.joined(separator: ", ")),
      extra TEXT, episodes TEXT NOT NULL
    );
    CREATE TABLE staging.rejected(
      page INTEGER NOT NULL, position INTEGER NOT NULL, id INTEGER, reason TEXT NOT NULL, document TEXT NOT NULL,
      PRIMARY KEY (page, position)
    ) WITHOUT ROWID;
    PRAGMA staging.user_version = \(Self.stagingVersion);
    """
  }
}
