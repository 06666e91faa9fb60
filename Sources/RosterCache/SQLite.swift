import CSQLite
import Dispatch
import Glibc
internal import RosterCore
import Synchronization

/// One connection and its prepared statements. Belongs to one thread at a time.
final class Database {
  enum Access {
    case readOnly, writer
    /// Reads a file that no program writes. SQLite neither looks for its log, nor locks it, nor creates files beside it
    /// (sqlite.org/uri.html#uriimmutable).
    case immutable
  }

  private let handle: OpaquePointer
  private var statements: [String: Statement] = [:]
  private var isOpen = true
  private var busyHandler: BusyHandler?
  private var ticker: Ticker?

  /// Receives every SQL text before its first run, so that tests see the plan of each statement. nil outside tests.
  @TaskLocal static var inspect: (@Sendable (Database, String) throws -> Void)?

  /// False if another part of the process used SQLite earlier, which costs only time.
  static let savesCounting = roster_stop_counting_memory() == SQLITE_OK

  /// Opens an existing file. `CacheFile` creates files.
  init(path: String, access: Access) throws {
    _ = Self.savesCounting
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(access.name(of: path), &opened, SQLITE_OPEN_NOMUTEX | access.flags, nil)
    guard let opened else { throw SQLiteError(code: code, message: "out of memory") }
    guard code == SQLITE_OK else {
      let error = SQLiteError(last: opened)
      sqlite3_close(opened)
      throw error
    }
    handle = opened
    sqlite3_extended_result_codes(handle, 1)
    try check(
      sqlite3_create_function_v2(
        handle, Self.numberText, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nil,
        { context, _, values in
          guard let value = values?.pointee, sqlite3_value_type(value) != SQLITE_NULL else {
            return sqlite3_result_text(context, "null", -1, Statement.copied)
          }
          sqlite3_result_text(context, sqlite3_value_double(value).description, -1, Statement.copied)
        }, nil, nil, nil))
  }

  /// The SQL function that writes a real as JSON with the fewest digits that identify it. SQLite's own JSON has 15
  /// digits, and two numbers may need 17 to differ.
  static let numberText = "rosterd_number"

  deinit { close() }

  /// Ends the connection. The last connection to a file also checkpoints it.
  func close() {
    guard isOpen else { return }
    isOpen = false
    statements = [:]
    sqlite3_close_v2(handle)
  }

  /// Runs statements once, without keeping them.
  func execute(_ sql: String) throws {
    try Self.inspect?(self, sql)
    try check(sqlite3_exec(handle, sql, nil, nil, nil))
  }

  /// A statement that is prepared once and kept for the life of the connection.
  func statement(_ sql: String) throws -> Statement {
    if let known = statements[sql] { return known }
    let statement = try prepare(sql, flags: SQLITE_PREPARE_PERSISTENT)
    statements[sql] = statement
    return statement
  }

  /// A statement that only the caller uses.
  func once(_ sql: String) throws -> Statement { try prepare(sql, flags: 0) }

  private func prepare(_ sql: String, flags: Int32) throws -> Statement {
    try Self.inspect?(self, sql)
    var prepared: OpaquePointer?
    try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(flags), &prepared, nil))
    guard let prepared else { throw SQLiteError(code: SQLITE_MISUSE, message: "empty statement") }
    return Statement(prepared)
  }

  /// Runs a statement to its end. Returns the number of rows that it inserted, updated or deleted.
  @discardableResult
  func run(_ sql: String, _ values: Value...) throws -> Int {
    let before = totalChanges
    try statement(sql).run(values)
    return totalChanges - before
  }

  func rows<Result>(_ sql: String, _ values: Value..., read: (Row) throws -> Result) throws -> [Result] {
    try statement(sql).rows(values, read: read)
  }

  func first<Result>(_ sql: String, _ values: Value..., read: (Row) throws -> Result) throws -> Result? {
    try statement(sql).rows(values, limit: 1, read: read).first
  }

  /// Calls `body` for each row, which is valid until the next one.
  func forEach(_ sql: String, _ values: Value..., body: (Row) throws -> Void) throws {
    try statement(sql).forEach(values, body: body)
  }

  /// The number in the only column of the first row; 0 without a row.
  func count(_ sql: String, _ values: Value...) throws -> Int {
    try statement(sql).rows(values, limit: 1) { $0.int(0) }.first ?? 0
  }

  /// Runs `body` completely or not at all. `commits` runs just before COMMIT and may still cancel it by throwing.
  func transaction<Result>(
    _ begin: String = "BEGIN IMMEDIATE", commits: () throws -> Void = {}, body: () throws -> Result
  ) throws -> Result {
    try execute(begin)
    do {
      let result = try body()
      try commits()
      try run("COMMIT")
      return result
    } catch {
      // SQLite has already rolled back after some errors (full disk, I/O). Then this one fails, and nothing remains to
      // be undone.
      if isInTransaction { try? execute("ROLLBACK") }
      throw error
    }
  }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Starts a new feed: tools that follow the old one must read everything again.
  func renewFeed() throws { try run("UPDATE main.cache_identity SET feed = lower(hex(randomblob(16)))") }

  var totalChanges: Int { Int(sqlite3_total_changes64(handle)) }

  /// How long a statement waits for a lock, in milliseconds; `interruption` ends the wait.
  func wait(milliseconds: Int32, unless interruption: Interruption? = nil) {
    let busyHandler = BusyHandler(milliseconds, interruption: interruption)
    // SQLite keeps the address, so `self` keeps the object, until the connection is closed or another handler replaces
    // it.
    sqlite3_busy_handler(handle, BusyHandler.handler, Unmanaged.passUnretained(busyHandler).toOpaque())
    self.busyHandler = busyHandler
  }

  /// Calls `tick` repeatedly from this connection's thread while a statement runs (sqlite3_progress_handler).
  /// - Parameter steps: Steps of SQLite's virtual machine between two calls.
  func tick(every steps: Int32 = Ticker.steps, _ tick: @escaping @Sendable () -> Void) {
    let ticker = Ticker(tick)
    sqlite3_progress_handler(handle, steps, Ticker.handler, Unmanaged.passUnretained(ticker).toOpaque())
    // SQLite keeps this address too.
    self.ticker = ticker
  }

  /// The `-wal` and `-shm` stay when the last connection closes (SQLITE_FCNTL_PERSIST_WAL).
  func keepLog() throws {
    var on: Int32 = 1
    try check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &on))
  }

  /// Decides whether closing the connection writes the log back into the file.
  func checkpointOnClose(_ wanted: Bool) { _ = roster_checkpoint_on_close(handle, wanted ? 1 : 0) }

  /// Runs a checkpoint at the end of a transaction once the log has this number of frames; 0 means never.
  func checkpoint(every frames: Int32) { sqlite3_wal_autocheckpoint(handle, frames) }

  enum Checkpoint { case passive, truncate }

  /// Writes the log back into the file. Returns false if a reader prevented a part of it.
  func checkpoint(_ mode: Checkpoint) throws -> Bool {
    var frames: Int32 = 0
    var done: Int32 = 0
    let mode = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
    let code = sqlite3_wal_checkpoint_v2(handle, "main", mode, &frames, &done)
    if code & 0xff == SQLITE_BUSY { return false }
    try check(code)
    return frames == done
  }

  /// Reads every byte of the file and its log, and throws the disk's error. This finds the cause when a statement
  /// reports damage after an EIO (SQLITE_IOERR_CORRUPTFS). It uses SQLite's own descriptors: closing another one would
  /// release its locks (sqlite.org/howtocorrupt.html, 2.2).
  func readThrough() throws {
    for kind in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
      var found: UnsafeMutablePointer<sqlite3_file>?
      try check(sqlite3_file_control(handle, "main", kind, &found))
      guard let found, let read = found.pointee.pMethods?.pointee.xRead else { continue }
      var block = [UInt8](repeating: 0, count: 1 << 16)
      var code = SQLITE_OK
      var offset: Int64 = 0
      while code == SQLITE_OK {
        code = read(found, &block, Int32(block.count), offset)
        offset += Int64(block.count)
      }
      guard code == Self.shortRead else {
        throw SQLiteError(code: code, message: String(cString: sqlite3_errstr(code)))
      }
    }
  }

  /// SQLITE_IOERR_SHORT_READ, a macro that Swift does not import: the end of the file.
  private static let shortRead = SQLITE_IOERR | (2 << 8)

  /// Frees the pages that the connection keeps in memory.
  func releaseMemory() { sqlite3_db_release_memory(handle) }

  /// Lets another thread interrupt this connection, between `arm` and `disarm` of `interruption`.
  func arm(_ interruption: Interruption) { interruption.arm(UInt(bitPattern: handle)) }

  private func check(_ code: Int32) throws {
    guard code == SQLITE_OK else {
      throw SQLiteError(last: handle)
    }
  }
}

/// Limits how long a connection waits for another's lock. It replaces sqlite3_busy_timeout, which sqlite3_interrupt
/// does not end.
private final class BusyHandler {
  /// Milliseconds between two attempts: short enough for a checkpoint's lock, and a person's transaction lasts longer
  /// anyway.
  private static let step: Int32 = 5

  private let looks: Int32
  private let interruption: Interruption?

  init(_ milliseconds: Int32, interruption: Interruption?) {
    looks = milliseconds / Self.step
    self.interruption = interruption
  }

  private func goesOn(after looks: Int32) -> Bool {
    guard looks < self.looks, interruption?.isWanted != true else { return false }
    usleep(useconds_t(Self.step) * 1_000)
    return true
  }

  static let handler: @convention(c) (UnsafeMutableRawPointer?, Int32) -> Int32 = { context, looks in
    guard let context else { return 0 }
    return Unmanaged<BusyHandler>.fromOpaque(context).takeUnretainedValue().goesOn(after: looks) ? 1 : 0
  }
}

final class Ticker {
  /// SQLite needs some milliseconds for these steps.
  static let steps: Int32 = 100_000

  private let tick: @Sendable () -> Void

  fileprivate init(_ tick: @escaping @Sendable () -> Void) { self.tick = tick }

  fileprivate static let handler: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { context in
    if let context { Unmanaged<Ticker>.fromOpaque(context).takeUnretainedValue().tick() }
    // Any other result would interrupt the statement.
    return 0
  }
}

extension Interruption {
  /// sqlite3_interrupt may be called from any thread while the connection is open.
  static func interrupt(_ address: UInt) {
    if let handle = OpaquePointer(bitPattern: address) { sqlite3_interrupt(handle) }
  }
}

extension Database.Access {
  fileprivate var flags: Int32 {
    switch self {
    case .readOnly: SQLITE_OPEN_READONLY
    case .writer: SQLITE_OPEN_READWRITE
    case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    }
  }

  fileprivate func name(of path: String) -> String {
    guard case .immutable = self else { return path }
    let escapes: [UInt8: String] = [UInt8(ascii: "%"): "%25", UInt8(ascii: "?"): "%3F", UInt8(ascii: "#"): "%23"]
    let escaped = path.utf8.flatMap { escapes[$0].map { Array($0.utf8) } ?? [$0] }
    return "file:\(path.hasPrefix("/") ? "//" : "")\(String(decoding: escaped, as: UTF8.self))?immutable=1"
  }
}

/// Runs an actor on a separate thread: SQLite blocks its thread, which is not allowed in Swift's shared pool.
final class SerialQueue: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

/// Places SQLite's temporary files beside the cache. A large change then needs room on a file system that the operator
/// chose, not in /tmp, which may be small or in memory. The process has one such folder
/// (sqlite.org/c3ref/temp_directory.html): that of the first cache it opens. If the folder is missing, SQLite uses the
/// system's.
enum TemporaryFiles {
  private static let isSet = Mutex(false)

  static func keep(in path: String) {
    isSet.withLock { isSet in
      if isSet { return }
      isSet = true
      roster_set_temporary_folder(parentFolder(of: path))
    }
  }
}

/// Interrupts long database work from another thread, until the work can no longer be undone.
final class Interruption: Sendable {
  private struct State {
    /// Address of the connection; nil while an interruption is not possible.
    var address: UInt?
    var isWanted = false
  }

  private let state = Mutex(State())

  func arm(_ address: UInt) {
    state.withLock { $0 = State(address: address) }
  }

  /// Makes later interruptions impossible. Throws CancellationError if one was requested before.
  func disarm() throws {
    let wasWanted = state.withLock { state in
      defer { state = State() }
      return state.isWanted
    }
    if wasWanted { throw CancellationError() }
  }

  var isWanted: Bool { state.withLock { $0.isWanted } }

  /// The lock is held during the call, so that the call cannot reach a COMMIT that has begun since.
  func interrupt() {
    state.withLock { state in
      guard let address = state.address else { return }
      state.isWanted = true
      Self.interrupt(address)
    }
  }
}
