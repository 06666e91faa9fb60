package import FoundationEssentials
package import Logging
internal import RosterDecode
internal import RosterFiles
package import RosterModel

/// The writer of a cache: one connection, on a thread of its own. Every method throws a `Failure` (73; 70 for a
/// defect); `begin` throws it within a `NotBegun`.
package actor Cache {
  /// What was met on opening.
  package struct Opening: Sendable, Equatable {
    /// Where a damaged cache was moved.
    package var movedAside: String?
    /// Nobody closed it the last time: `check` it once there is time.
    package var wasUnclean = false
  }

  /// Of the database itself.
  package nonisolated let path: String
  /// The thread that SQLite blocks.
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  let upstream: String
  let logger: Logger
  let tick: @Sendable () -> Void
  let interruption = Interruption()
  var database: Database?
  /// A reader's transaction was in the way when the log was last to be written back.
  package internal(set) var isWALPinned = false
  /// Those that were opened, to be told from others of their names.
  var files = FileIdentity.Parts()
  var metDamage = false
  /// Of the syncs of this process.
  var latestID: Int64 = 0
  /// The sync whose row was written last as it began.
  var begun: Int64 = 0
  /// The ends of syncs that could not be written yet.
  var unwritten: [SyncRecord] = []
  /// The tables of what is mirrored.
  let schema: Schema
  /// In the order of the definitions.
  let plans: [RecordPlan]
  /// Pages that were pulled and not published yet.
  var pulled: PulledFile?
  var pull = PullState()
  /// How often the cache, or the file of pulled pages, was opened or made anew: what a sync began with must still be
  /// there.
  var generation = 0
  /// What was met when it was opened.
  package private(set) var opened = Opening()
  private var publishedFile: PublishedFile
  private let executor: SerialQueue

  private init(
    path: String, upstream: String, resources: [Resource], logger: Logger, tick: @escaping @Sendable () -> Void
  ) throws {
    self.path = path
    self.upstream = upstream
    self.logger = logger
    self.tick = tick
    publishedFile = PublishedFile(path)
    schema = try Schema(resources)
    plans = try resources.map { try RecordPlan($0) }
    executor = SerialQueue(label: "rosterd.cache")
  }

  /// Opens the cache for its one writer, who has the lock, or makes it.
  /// - Parameters:
  ///   - hadLock: As `CacheFile.inspect` takes it.
  ///   - resources: What is mirrored.
  ///   - tick: Called again and again while a statement runs, from the cache's thread.
  package static func open(
    path: String, upstream: String, resources: [Resource], hadLock: Bool? = nil, now: Date, logger: Logger,
    tick: @escaping @Sendable () -> Void = {}
  ) async throws -> Cache {
    let cache = try Cache(path: path, upstream: upstream, resources: resources, logger: logger, tick: tick)
    try await cache.start(hadLock: hadLock, at: now)
    return cache
  }

  /// In bytes, without asking the database.
  package nonisolated func sizes() -> (database: Int64, wal: Int64) {
    (fileSize(path), fileSize(path + "-wal"))
  }

  /// What is to be told of the snapshot that readers see.
  package func facts() throws -> CacheFacts {
    var facts = try perform("read the cache") { try CacheFacts($0, isWALPinned: isWALPinned) }
    facts.movedAside = opened.movedAside
    return facts
  }

  /// Reads the whole file. False: it is damaged, and `recover` is due. Takes seconds for a million records;
  /// `interruptPublish` ends it early.
  package func check() throws -> Bool {
    do {
      try perform("check the cache") { database in
        database.arm(interruption)
        defer { try? interruption.disarm() }
        try verify(database, .pages)
      }
      return true
    } catch let failure as Failure where metDamage {
      logger.error("\(failure)")
      return false
    }
  }

  /// Interrupts a comparison, a publication or a check from any thread, unless a COMMIT has begun.
  package nonisolated func interruptPublish() { interruption.interrupt() }

  /// Reads within one transaction that `interruptPublish` ends.
  func interruptible<Result>(_ database: Database, _ body: () throws -> Result) throws -> Result {
    database.arm(interruption)
    defer { try? interruption.disarm() }
    // A task that was cancelled before `arm` has interrupted nothing.
    try Task.checkCancellation()
    return try database.transaction("BEGIN", body)
  }

  /// Leaves `-wal` and `-shm` for readers. A long log is left to the next start: a stop has seconds.
  package func close() {
    database?.wait(milliseconds: 0)
    if let database, !metDamage { try? writeEnds(database) }
    if sizes().wal > Self.longestLogAtClose { database?.checkpointOnClose(false) }
    shut()
  }

  func shut() {
    database?.close()
    database = nil
    pulled = nil
  }

  var connection: Database {
    get throws {
      guard let database else {
        throw Failure(
          .cannotWrite, step: "use the cache", subject: path, cause: "it is not open",
          hint: "the last sync's error tells why it could not be opened again")
      }
      return database
    }
  }

  /// Every statement runs in here: what SQLite reports becomes a `Failure`, and damage is remembered.
  func perform<Result>(_ step: String, _ body: (Database) throws -> Result) throws -> Result {
    do {
      return try body(connection)
    } catch let error as SQLiteError {
      if error.kind == .interrupted || error.kind == .locked && interruption.isWanted { throw CancellationError() }
      let cause = diagnosis(of: error)
      // A statement that a sound cache would have run: what the matter is, `recover` finds out.
      if cause.kind == .damaged || cause.kind == .other { metDamage = true }
      throw cause.failure(step, path)
    }
  }

  /// 64 MiB: about 0.2 s of writing on a plain disk.
  private static let longestLogAtClose: Int64 = 64 << 20
  /// Another writer can only be a person with a shell: wait a little, then say so. A stop may wait twice, for the
  /// publish and for the sync's row, and P13 gives it 5 s.
  static let lockTimeout: Int32 = 2_000
  /// KiB: memory that a sync of any length may use.
  static let pageCache = 1_500
  /// KiB of it for temporary tables, which are written once and read once.
  private static let sortCache = 500
  /// Bytes that a log may keep after a checkpoint.
  private static let logLimit = 4 << 20

  /// Looks at the file itself: what was found before the lock was taken may have been changed by whoever had it.
  func start(hadLock: Bool? = nil, at date: Date) throws {
    do {
      switch try CacheFile.inspect(path, hadLock: hadLock) {
      case .absent:
        try PulledFile.inspect(pulledPath, identity: nil)
        try CacheFile.create(path, schema)
        try connectTwice()
      case .ours:
        // A stop leaves an empty log. One that is gone was removed by somebody, with all that it held.
        opened.wasUnclean = sizes().wal > 0 || fileStatus(path + "-wal") == nil
        try connectTwice()
      case .damaged: _ = try replace(at: date)
      }
    } catch let error as SQLiteError where error.kind == .damaged {
      _ = try replace(at: date)
      opened.wasUnclean = false
    } catch let error as SQLiteError {
      throw error.failure("open the cache", path)
    }
  }

  /// Once more where it seems damaged: SQLite takes a page that the disk did not give this once for a damaged one
  /// (SQLITE_IOERR_CORRUPTFS).
  private func connectTwice() throws {
    do { try connect() } catch let error as SQLiteError where error.kind == .damaged { try connect() }
  }

  func replace(at date: Date) throws -> String {
    do {
      let aside = try CacheFile.replace(path, schema, at: date)
      logger.error("the cache was damaged: it was moved aside, and all is pulled anew", metadata: ["path": "\(aside)"])
      opened.movedAside = aside
      try connect()
      return aside
    } catch let error as SQLiteError {
      throw error.failure("make the cache anew", path)
    }
  }

  func connect() throws {
    let opened = try Database(path: path, access: .writer)
    opened.tick(tick)
    files.database = FileIdentity(path)
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
    files = FileIdentity.Parts(path, pulled: pulledPath)
  }

  private func prepare(_ database: Database) throws {
    try database.keepLog()
    database.wait(milliseconds: Self.lockTimeout, unless: interruption)
    let version = try database.first("PRAGMA user_version") { $0.int(0) } ?? 0
    guard version <= Schema.version else { throw CacheFile.newer(path, version) }
    try CacheFile.setModes(path)
    TemporaryFiles.keep(in: path)
    try database.execute(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = \(Self.logLimit);
      PRAGMA cache_size = -\(Self.pageCache); PRAGMA temp.cache_size = -\(Self.sortCache);
      PRAGMA legacy_alter_table = ON;
      """)
    let staging = version == 1 ? try StagingFile.read(path, upstream: upstream, database) : nil
    try schema.migrate(database)
    try Schema.look(database)
    // The first transaction makes -wal and -shm, which a reader without write permission needs.
    try database.transaction {
      if try database.first("PRAGMA application_id", read: { $0.integer(0) }) != Int64(Schema.applicationID) {
        try database.execute("PRAGMA application_id = \(Schema.applicationID)")
      }
      try database.run("UPDATE syncs SET outcome = 'interrupted' WHERE outcome = 'running'")
    }
    try noteLatest(database)
    try CacheFile.setModes(path)
    // What history has ended must not stay in the file; Debian's default writes every freed page once more.
    try database.execute("PRAGMA secure_delete = FAST")
    database.checkpoint(every: 0)
    try openPulled(database, migrated: staging)
    tellSnapshot(database)
  }

  /// Tells whoever waits for a snapshot of the one that readers see.
  func tellSnapshot(_ database: Database) { publishedFile.tell(database, logger) }
}
