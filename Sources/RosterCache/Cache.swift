package import FoundationEssentials
package import Logging
package import RosterCore
internal import RosterDecode
import Synchronization

/// The writer of a cache: one connection, on a thread of its own. Every method throws a `Failure` (73; 70 for a
/// defect); `begin` throws it within a `SyncStartError`.
package actor Cache {
  /// The findings of opening a cache.
  package struct OpenReport: Sendable, Equatable {
    /// New path of a damaged cache that was moved aside; nil if the cache was sound.
    package var movedAside: String?
    /// True if the previous process did not close the cache: call `check` when there is time.
    package var wasUnclean = false
  }

  /// Path of the database file for readers.
  package nonisolated let path: String
  /// The file that is open: another one only while a cache of an older version has the path (`OlderCache`).
  package nonisolated var file: String {
    get { openFile.withLock { $0 } }
    set { openFile.withLock { $0 = newValue } }
  }
  private nonisolated let openFile: Mutex<String>
  /// The thread that SQLite blocks.
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  let upstream: String
  let logger: Logger
  let tick: @Sendable () -> Void
  let interruption = Interruption()
  var database: Database?
  /// True if a reader's transaction prevented the last checkpoint of the log.
  package internal(set) var isWALPinned = false
  /// The files that this process opened, to recognise other files under the same names.
  var files = FileIdentity.Parts()
  var isDamageSuspected = false
  /// The highest id of a sync that this process knows.
  var latestID: Int64 = 0
  /// The sync whose row was written last when a sync began.
  var begun: Int64 = 0
  /// The ends of syncs that could not be written yet.
  var unwritten: [SyncRecord] = []
  var schema: Schema
  /// Definitions that no sync has published yet.
  var waiting = WaitingDefinitions()
  /// Decoding plans, in the order of the definitions.
  let plans: [RecordPlan]
  /// Pages that were pulled and are not published yet.
  var pulled: Staging?
  var pull = PullFacts()
  /// Counts how often this process opened or replaced the cache or the file of pulled pages. A sync may only use what
  /// it began with.
  var generation = 0
  /// The findings of opening this cache.
  package private(set) var opened = OpenReport()
  /// True until `check` has found the cache sound, if the previous process did not close it or if it seems damaged.
  package var needsCheck: Bool { isDamageSuspected || opened.wasUnclean && !isChecked }
  var isChecked = false
  private var publishedFile: PublishedFile
  private let executor: SerialQueue

  private init(
    path: String, upstream: String, resources: [Resource], logger: Logger, tick: @escaping @Sendable () -> Void
  ) throws {
    self.path = path
    openFile = Mutex(path)
    self.upstream = upstream
    self.logger = logger
    self.tick = tick
    publishedFile = PublishedFile(path)
    schema = try Schema(resources)
    plans = try resources.map { try RecordPlan($0) }
    executor = SerialQueue(label: "rosterd.cache")
  }

  /// Opens the cache for its only writer, the owner of the lock, or creates the cache.
  /// - Parameters:
  ///   - hadLock: The result of `CacheFile.hasLock` before this process made a lock file; nil to look now.
  ///   - wasReleased: False if the previous owner of the lock ended without releasing it.
  ///   - resources: What is mirrored.
  ///   - tick: Called repeatedly from the cache's thread while a statement runs.
  package static func open(
    path: String, upstream: String, resources: [Resource], hadLock: Bool? = nil, wasReleased: Bool = true, now: Date,
    logger: Logger, tick: @escaping @Sendable () -> Void = {}
  ) async throws -> Cache {
    let cache = try Cache(path: path, upstream: upstream, resources: resources, logger: logger, tick: tick)
    try await cache.start(hadLock: hadLock, wasReleased: wasReleased, at: now)
    return cache
  }

  /// File sizes in bytes, which are read without a query.
  package nonisolated func sizes() -> (database: Int64, wal: Int64) {
    (fileSize(file), fileSize(file + "-wal"))
  }

  /// The time at which a damaged cache was last moved aside; nil without such a file.
  package nonisolated var damagedAt: Date? { MovedCaches.latestTime(path) }

  /// The facts of the snapshot that readers see.
  package func facts() throws -> CacheFacts {
    var facts = try perform("read the cache") { try CacheFacts($0, isWALPinned: isWALPinned) }
    facts.waiting = waiting.names
    facts.damaged = MovedCaches.latest(path)
    facts.older = hasOlder ? .read : MovedCaches.latestOlder(path).map { .moved($0) }
    return facts
  }

  /// Reads the whole file. Returns false if the file is damaged: then call `recover`. Takes seconds for a million
  /// records; `interruptPublish` ends it early.
  package func check() throws -> Bool {
    do {
      try perform("check the cache") { database in
        database.arm(interruption)
        defer { try? interruption.disarm() }
        try verify(database, depth: .pages)
      }
      isChecked = true
      return true
    } catch let failure as Failure where isDamageSuspected {
      logger.error("\(failure)")
      return false
    }
  }

  /// Interrupts a comparison, a publication or a check from any thread, unless a COMMIT has begun.
  package nonisolated func interruptPublish() { interruption.interrupt() }

  /// Reads within one transaction that `interruptPublish` ends.
  func interruptible<Result>(_ database: Database, body: () throws -> Result) throws -> Result {
    database.arm(interruption)
    defer { try? interruption.disarm() }
    // A task that was cancelled before `arm` has not interrupted anything.
    try Task.checkCancellation()
    return try database.transaction("BEGIN", body: body)
  }

  /// Keeps `-wal` and `-shm` for readers. A long log is written back by the next start, because a stop has only
  /// seconds.
  package func close() {
    database?.wait(milliseconds: 0)
    if let database, !isDamageSuspected { try? writeEnds(database) }
    if sizes().wal > Self.maxLogAtClose { database?.checkpointOnClose(false) }
    shut()
  }

  func shut() {
    try? pulled?.detach()
    database?.close()
    database = nil
    pulled = nil
  }

  var connection: Database {
    get throws {
      guard let database else {
        throw Failure(
          .cannotWrite, step: "use the cache", subject: path, cause: "it is not open",
          hint: "the last sync's error says why it could not be opened again")
      }
      return database
    }
  }

  /// Runs statements. An error of SQLite becomes a `Failure`, and a sign of damage is remembered.
  func perform<Result>(_ step: String, body: (Database) throws -> Result) throws -> Result {
    do {
      return try body(connection)
    } catch let error as SQLiteError {
      if error.kind == .interrupted || error.kind == .locked && interruption.isWanted { throw CancellationError() }
      let cause = diagnosis(of: error)
      // A sound cache would have run the statement. `recover` finds the cause.
      if cause.kind == .damaged || cause.kind == .other { isDamageSuspected = true }
      throw cause.failure(step, path)
    }
  }

  /// 64 MiB take about 0.2 s to write to an ordinary disk.
  private static let maxLogAtClose: Int64 = 64 << 20
  /// Milliseconds. Another writer can only be a person with a shell: wait briefly, then fail. A stop may wait twice,
  /// for the publish and for the sync's row, and has 5 s.
  static let lockTimeout: Int32 = 2_000
  /// Memory in KiB that a sync of any length may use.
  static let pageCache = 1_500
  /// Number of bytes that a log may keep after a checkpoint.
  private static let logLimit = 4 << 20

  /// Inspects the file again, because the previous owner of the lock may have changed it since.
  func start(hadLock: Bool? = nil, wasReleased: Bool = true, at date: Date) throws {
    do {
      var found = try CacheFile.inspect(path, hadLock: hadLock)
      file = OlderCache.file(of: path, found)
      if hasOlder { found = try CacheFile.inspect(file, hadLock: true) } else { OlderCache.removeLeftovers(path) }
      switch found {
      case .absent:
        try Staging.inspect(pulledPath, identity: nil)
        try CacheFile.create(file, schema: schema)
        try connectTwice()
      case .ours:
        // A stop leaves an empty log, and so does a publish. If the log is missing, another program removed it with all
        // its content.
        opened.wasUnclean = !wasReleased || sizes().wal > 0 || fileStatus(file + "-wal") == nil
        try connectTwice()
      case .damaged, .older: _ = try replace(at: date)
      }
      replaceOlder()
    } catch let error as SQLiteError where error.kind == .damaged {
      _ = try replace(at: date)
      opened.wasUnclean = false
    } catch let error as SQLiteError {
      throw error.failure("open the cache", file)
    }
  }

  /// Connects again if the cache seems damaged. SQLite reports a page that the disk could not read once as a damaged
  /// one (SQLITE_IOERR_CORRUPTFS).
  private func connectTwice() throws {
    do { try connect() } catch let error as SQLiteError where error.kind == .damaged { try connect() }
  }

  func replace(at date: Date) throws -> String {
    do {
      let aside = try CacheFile.replace(file, schema: schema, at: date)
      logger.error("the damaged cache was moved aside, and everything is pulled again", metadata: ["path": "\(aside)"])
      opened.movedAside = aside
      isChecked = true
      try connect()
      return aside
    } catch let error as SQLiteError {
      throw error.failure("replace the cache", path)
    }
  }

  func connect() throws {
    let opened = try Database(path: file, access: .writer)
    opened.tick(tick)
    files.database = FileIdentity(file)
    do {
      try prepare(opened)
    } catch {
      defer {
        opened.checkpointOnClose(false)
        opened.close()
      }
      guard let error = error as? SQLiteError, error.kind == .damaged else { throw error }
      throw try Self.damage(error, in: opened)
    }
    database = opened
    files = FileIdentity.Parts(file, pulled: pulledPath)
  }

  private func prepare(_ database: Database) throws {
    try database.keepLog()
    database.wait(milliseconds: Self.lockTimeout, unless: interruption)
    let version = try database.count("PRAGMA user_version")
    guard version <= Schema.version else { throw CacheFile.newer(file, version: version) }
    try CacheFile.setModes(file)
    TemporaryFiles.keep(in: path)
    try database.execute(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = \(Self.logLimit);
      PRAGMA cache_size = -\(Self.pageCache); PRAGMA temp.cache_size = -\(PulledTables.cacheSize);
      PRAGMA legacy_alter_table = ON;
      """)
    try Schema.look(database)
    // The first transaction creates -wal and -shm, which a reader without write permission needs.
    try database.transaction {
      if try database.first("PRAGMA application_id", read: { $0.integer(0) }) != Int64(Schema.applicationID) {
        try database.execute("PRAGMA application_id = \(Schema.applicationID)")
      }
      try database.run("UPDATE main.syncs SET outcome = 'interrupted' WHERE outcome = 'running'")
    }
    try noteLatest(database)
    try CacheFile.setModes(file)
    // Expired history must not remain in the file. Debian's default writes every freed page once more.
    try database.execute("PRAGMA secure_delete = FAST")
    database.checkpoint(every: 0)
    try openPulled(database)
    tellSnapshot(database)
  }

  /// Updates `<path>.published`, for which systemd units may wait.
  func tellSnapshot(_ database: Database) {
    if !hasOlder { publishedFile.tell(database, logger: logger) }
  }
}
