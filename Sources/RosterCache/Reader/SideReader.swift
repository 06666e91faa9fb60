package import RosterModel

/// Reads the cache beside its writer, in the same process, on a connection and a thread of its own: no question waits
/// for a sync, and no sync for a question (S1). It opens the cache when it is first asked.
package actor SideReader {
  /// Its own thread: reads do not wait for the writer, nor it for them.
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let executor = SerialQueue(label: "rosterd.reader")
  private let cache: Cache
  private let interruption = Interruption()
  private var reader: CacheReader?
  private var files = FileIdentity.Parts()
  private var isClosed = false

  /// Of the file that `cache` writes.
  package init(beside cache: Cache) { self.cache = cache }

  /// The latest syncs, newest first. Throws `Failure`: 73 where the cache cannot be read, 1 behind `close`.
  package func recent(_ request: SyncsRequest) async throws -> [SyncRecord] {
    try await read { try $0.latest(request) }
  }

  /// The first few records that could not be stored. Throws `Failure` as above.
  package func rejected() async throws -> [Concern] {
    try await read { try $0.concernedByRejects() }
  }

  /// What follows an id of the feed. Throws `Failure` as above.
  package func changes(_ request: FeedRequest) async throws -> FeedAnswer {
    let position = FeedPosition(feed: request.feed, seen: request.since)
    return try await read { reader in
      do {
        switch try reader.follow(position, request.resource, request.limit) {
        case .page(let page): return .page(json: page.json + [UInt8(ascii: "\n")], isEmpty: page.changes.isEmpty)
        case .readAnew(let why): return .readAnew(why)
        }
      } catch let failure as Failure where failure.kind == .cancelled {
        return .noResource("\(failure)")
      }
    }
  }

  /// Breaks off what it reads; before the writer closes, which leaves an empty log only as the last one.
  package nonisolated func close() async {
    interruption.interrupt()
    await shut()
  }

  private func shut() {
    isClosed = true
    drop()
  }

  private func drop() {
    // Never interrupted once it is gone.
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
      // As any statement of the writer that a sound cache would have run: `recover` finds out.
      if error.kind == .damaged || error.kind == .other { await cache.suspectDamage() }
      throw error.failure(CacheReader.step, cache.path)
    }
  }

  /// The connection to the files that have the name now. Where one of them is missing, the writer is about to make it
  /// anew, and the old ones are what there is.
  private func current() throws -> CacheReader {
    if isClosed { throw stopping }
    let found = FileIdentity.Parts(cache.path)
    if let reader, found == files || !found.isWhole { return reader }
    drop()
    let opened = try CacheReader(besideWriter: cache.path, interruption)
    (reader, files) = (opened, found)
    return opened
  }

  private var stopping: Failure {
    Failure(.cancelled, step: CacheReader.step, subject: cache.path, cause: "rosterd is stopping")
  }
}

extension CacheReader {
  /// In the process that writes it: nothing but SQLite may open the file, whose locks go where another descriptor of it
  /// is closed (sqlite.org/howtocorrupt.html, 2.2). What it is, the writer knows. Throws `SQLiteError`.
  fileprivate init(besideWriter path: String, _ interruption: Interruption) throws {
    self.init(path, try Database(path: path, access: .readOnly))
    database.wait(milliseconds: Cache.lockTimeout, unless: interruption)
    try database.execute("PRAGMA cache_size = -\(Self.pageCache)")
    database.arm(interruption)
  }

  /// KiB: it mostly reads each page once.
  private static let pageCache = 256
}
