package import RosterCore

/// Reads the cache in the process of its writer, on a separate connection and thread. Requests and syncs do not wait
/// for each other. It opens the cache at the first request.
package actor SideReader {
  /// The reader's thread: reads do not wait for the writer, and the writer does not wait for reads.
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let executor = SerialQueue(label: "rosterd.reader")
  private let cache: Cache
  private let interruption = Interruption()
  private var reader: CacheReader?
  private var files = FileIdentity.Parts()
  private var isClosed = false

  /// Reads the file that `cache` writes.
  package init(beside cache: Cache) { self.cache = cache }

  /// The latest syncs, newest first. Throws `Failure`: 73 if the cache cannot be read, 1 after `close`.
  package func recent(_ request: SyncsRequest) async throws -> [SyncRecord] {
    try await read { try $0.latest(request) }
  }

  /// The first records that could not be stored. Throws `Failure` as above.
  package func rejected() async throws -> [AffectedItem] {
    try await read { try $0.rejected() }
  }

  /// The changes after an id of the feed. Throws `Failure` as above.
  package func changes(_ request: FeedRequest) async throws -> FeedAnswer {
    let position = FeedPosition(feed: request.feed, seen: request.since)
    return try await read { reader in
      do {
        switch try reader.feed(position, resource: request.resource, limit: request.limit) {
        case .page(let page): return .page(json: page.json + [UInt8(ascii: "\n")], isEmpty: page.changes.isEmpty)
        case .readAnew(let why): return .readAnew(why)
        }
      } catch let failure as Failure where failure.kind == .cancelled {
        return .noResource("\(failure)")
      }
    }
  }

  /// Interrupts the current read. Call this before the writer closes, which empties the log only if its connection is
  /// the last.
  package nonisolated func close() async {
    interruption.interrupt()
    await shut()
  }

  private func shut() {
    isClosed = true
    drop()
  }

  private func drop() {
    // A closed connection must not be interrupted.
    try? interruption.disarm()
    reader = nil
  }

  private func read<Result>(_ body: (CacheReader) throws -> Result) async throws -> Result {
    do {
      let reader = try current()
      defer { reader.database.releaseMemory() }
      return try reader.database.transaction("BEGIN") { try body(reader) }
    } catch let error as SQLiteError {
      if isClosed || interruption.isWanted { throw stopping }
      // A sound cache would have run the statement. `recover` finds the cause.
      if error.kind == .damaged || error.kind == .other { await cache.suspectDamage() }
      throw error.failure(CacheReader.step, cache.path)
    }
  }

  /// The connection to the files that have the names now. If a file is missing, the writer is about to create it again,
  /// and the old connection is used.
  ///
  /// The successor of an older cache is not opened. It gets another name, and SQLite shares the index of a log between
  /// all connections of a process to one file, whatever its name was.
  private func current() throws -> CacheReader {
    if isClosed { throw stopping }
    if cache.hasOlder { throw waiting }
    let found = FileIdentity.Parts(cache.path)
    if let reader, found == files || !found.isWhole { return reader }
    drop()
    let opened = try CacheReader(besideWriter: cache.path, interruption)
    (reader, files) = (opened, found)
    return opened
  }

  private var waiting: Failure {
    Failure(
      .cannotWrite, step: CacheReader.step, subject: cache.path,
      cause: "an older rosterd made it, and no sync has replaced it yet",
      hint: "wait for the first sync: rosterctl wait")
  }

  private var stopping: Failure {
    Failure(.cancelled, step: CacheReader.step, subject: cache.path, cause: "rosterd is stopping")
  }
}

extension CacheReader {
  /// Opens a second connection in the process of the writer. Only SQLite may open the file: closing any other
  /// descriptor releases SQLite's locks (sqlite.org/howtocorrupt.html, 2.2). The writer has already inspected the file.
  /// Throws `SQLiteError`.
  fileprivate init(besideWriter path: String, _ interruption: Interruption) throws {
    self.init(path, in: try Database(path: path, access: .readOnly))
    database.wait(milliseconds: Cache.lockTimeout, unless: interruption)
    try database.execute("PRAGMA cache_size = -\(Self.pageCache)")
    database.arm(interruption)
  }

  /// KiB. The reader mostly reads each page once.
  private static let pageCache = 256
}
