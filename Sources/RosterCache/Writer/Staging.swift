internal import FoundationEssentials
import Glibc
internal import RosterCore

/// `<path>.next`, attached to the connection as `next`: the pages of a sync until they are published. It survives a
/// kill. A power failure costs the last commits, because nothing is flushed. The log is never written back, and SQLite
/// reads it up to the first frame with a wrong checksum (sqlite.org/walformat.html). If the file is lost, the only cost
/// is another pull.
final class Staging {
  /// The cache and the source to which the pages belong.
  struct Owner: Equatable {
    /// `cache_identity.feed`.
    var feed: String
    /// The cache's file, by `FileIdentity.text`.
    var cache: String
    /// The last sync that published or verified when the first of the pages was pulled. After the next such sync, the
    /// pages are of no use.
    var epoch: Int64
    /// `PullKey.text`
    var source: String
  }

  let path: String
  private let database: Database
  private let body = BodyBuffer()
  private var isAttached = false
  /// True if the file may have bodies, or room that bodies have left. An earlier process may have left some.
  private var holdsBodies = true
  /// True if a sync has begun, and its first page is not stored yet: the pages are still those of the pull before.
  private var isOfEarlierPull = false
  /// True if a whole pull was concluded, and no page was added since.
  private(set) var hasConclusion = false
  /// True if `seen` may have rows.
  private var hasNotes = true

  /// Makes an empty file if it is missing. Call `inspect` before, and remember the file's identity after it.
  static func touch(_ path: String) throws { try CacheFile.touch(path, mode: CacheFile.privateMode) }

  /// Attaches the file, and replaces its content if it is empty, damaged or of another version.
  init(_ path: String, in database: Database) throws {
    (self.path, self.database) = (path, database)
    do { try attach() } catch {
      try? detach()
      throw error
    }
  }

  /// Attaches the file beside its writer, without changing it; nil if it does not exist.
  init?(reading path: String, in database: Database) throws {
    (self.path, self.database) = (path, database)
    guard fileStatus(path) != nil else { return nil }
    do {
      try open()
      guard try isOfThisVersion() else { return nil }
      hasConclusion = try conclusion() != nil
    } catch let error as SQLiteError {
      throw Failure(
        .cannotWrite, step: "read pulled pages", subject: path, cause: "it cannot be opened: \(error.message)",
        hint: "run as root or as the rosterd user; unpublished data is private")
    }
  }

  /// Throws a `Failure` (73) if another program's file has this name; that file is not changed. `identity` names the
  /// file that rosterd made there, according to the cache. That file is accepted even if its header is damaged.
  static func inspect(_ path: String, identity: String?) throws {
    var found = stat()
    guard lstat(path, &found) == 0 else { return }
    let isFile = found.st_mode & S_IFMT == S_IFREG
    if isFile, found.st_size == 0 || FileIdentity(path)?.text == identity { return }
    guard isFile, try CacheFile.applicationID(of: path) == applicationID else {
      throw Failure(
        .cannotWrite, step: "keep pulled pages", subject: path, cause: "rosterd did not make this file",
        hint: "move it away, or name another cache.path"
      ).with(.foreignFile)
    }
  }

  // MARK: The file

  /// "ROSX"
  private static let applicationID: UInt32 = 0x524F_5358
  private static let version = 1

  private func open() throws {
    try database.statement("ATTACH ?1 AS next").run([.text(path)])
    isAttached = true
  }

  private func isOfThisVersion() throws -> Bool {
    try database.count("PRAGMA next.application_id") == Int(Self.applicationID)
      && database.count("PRAGMA next.user_version") == Self.version
  }

  private func attach() throws {
    let isReadable: Bool
    do { isReadable = try read() } catch let error as SQLiteError where error.kind == .damaged { isReadable = false }
    if isReadable { try database.execute(StagingTables.settings) } else { try renew(for: nil) }
  }

  /// Returns false if the file is empty, or of another version.
  private func read() throws -> Bool {
    try open()
    guard try isOfThisVersion(), try owner() != nil else { return false }
    hasConclusion = try conclusion() != nil
    return true
  }

  /// Makes an empty database of the same file, in one transaction: nothing of the bodies remains. The owner is flushed,
  /// because the cache's feed depends on it.
  private func renew(for owner: Owner?) throws {
    try detach()
    guard truncate(path, 0) == 0 else { throw refusal("shorten") }
    for part in ["-wal", "-shm", "-journal"] {
      guard unlink(path + part) == 0 || errno == ENOENT else { throw refusal("remove its log") }
    }
    try open()
    try database.execute("PRAGMA next.page_size = 16384; PRAGMA next.synchronous = \(owner == nil ? "OFF" : "NORMAL")")
    try database.transaction("BEGIN") {
      for sql in StagingTables.create { try database.execute(sql) }
      if let owner { try insert(owner) }
      try database.execute(
        "PRAGMA next.application_id = \(Self.applicationID); PRAGMA next.user_version = \(Self.version)")
    }
    try database.execute(StagingTables.settings)
    (hasConclusion, holdsBodies, hasNotes) = (false, owner == nil, false)
  }

  private func insert(_ owner: Owner) throws {
    try database.run(
      "INSERT INTO next.pull(one, feed, cache, epoch, source, sync, is_fresh) VALUES (1, ?1, ?2, ?3, ?4, 0, 0)",
      .text(owner.feed), .text(owner.cache), .integer(owner.epoch), .text(owner.source))
  }

  /// Closes the file as a kill would leave it.
  func detach() throws {
    guard isAttached else { return }
    database.checkpointOnClose(false)
    defer { database.checkpointOnClose(true) }
    try database.execute("DETACH next")
    isAttached = false
  }

  private func refusal(_ step: String) -> Failure {
    let error = SystemError.last
    return Failure(
      .cannotWrite, step: "keep pulled pages", subject: path, cause: "cannot \(step): \(error.text)",
      hint: Failure.hint(for: error.code, writing: path, else: "see that rosterd's user may write to it")
    ).with(Diagnosis.Kind(errno: error.code))
  }

  /// Drops every page, and frees its room.
  func empty(for owner: Owner) throws {
    if holdsBodies { return try renew(for: owner) }
    try database.transaction("BEGIN") {
      for table in StagingTables.names { try database.run("DELETE FROM \(table)") }
      try insert(owner)
    }
    (hasConclusion, hasNotes) = (false, false)
  }

  /// Call this when `seen` gets a row.
  func notes() { hasNotes = true }

  // MARK: The pull

  /// nil if the file was just made.
  func owner() throws -> Owner? {
    try database.first("SELECT feed, cache, epoch, source FROM next.pull") {
      Owner(feed: $0.text(0), cache: $0.text(1), epoch: $0.integer(2), source: $0.text(3))
    }
  }

  /// The pages stay, and belong to this owner from now on.
  func adopt(_ owner: Owner) throws {
    try database.run(
      """
      UPDATE next.pull SET (feed, cache, epoch, source) = (?1, ?2, ?3, ?4)
      WHERE (feed, cache, epoch, source) <> (?1, ?2, ?3, ?4)
      """, .text(owner.feed), .text(owner.cache), .integer(owner.epoch), .text(owner.source))
  }

  /// The last sync that has stored pages; 0 without one.
  func sync() throws -> Int64 { try database.first("SELECT sync FROM next.pull") { $0.integer(0) } ?? 0 }

  /// The whole pull that was not published; nil if pages were added since.
  func conclusion() throws -> PullConclusion? {
    let pull = try database.first("SELECT concluded, is_fresh FROM next.pull WHERE concluded IS NOT NULL") {
      (sync: $0.integer(0), isFresh: $0.int(1) != 0)
    }
    guard let pull else { return nil }
    let parts = try database.rows("SELECT removal, is_incremental FROM next.decision ORDER BY resource") {
      PullConclusion.Part(removal: .init(flag: $0.integer(0)), isIncremental: $0.int(1) != 0)
    }
    return PullConclusion(sync: pull.sync, isFresh: pull.isFresh, parts: parts)
  }

  /// Notes that the pages of this pull are whole, and the decisions about them.
  /// - Parameter isGuarded: True if upstream must confirm each of the pages before another sync uses it.
  func conclude(_ conclusion: PullConclusion, isGuarded: Bool) throws {
    try database.transaction("BEGIN") {
      try database.run("DELETE FROM next.decision")
      try database.run("INSERT OR REPLACE INTO next.same SELECT * FROM temp.same")
      for (index, part) in conclusion.parts.enumerated() {
        try database.run(
          "INSERT INTO next.decision VALUES (?1, ?2, ?3)", Value(index), .integer(part.removal.flag),
          Value(part.isIncremental))
      }
      if isGuarded {
        for table in ["page", "seen", "list"] { try database.run("UPDATE next.\(table) SET is_guarded = 1") }
      }
      try database.run(
        "UPDATE next.pull SET sync = ?1, concluded = ?1, is_fresh = ?2", .integer(conclusion.sync),
        Value(conclusion.isFresh))
    }
    hasConclusion = true
  }

  /// Begins a pull. Readers see the pages of the one before until something of this one is stored.
  func begin() { isOfEarlierPull = true }

  /// Ends the pull before: its pages are no part of this one.
  func endEarlierPull() throws {
    guard isOfEarlierPull else { return }
    try StagingTables.reset(database)
    isOfEarlierPull = false
  }

  /// Call this first in each transaction that stores pages or notes.
  func stores(for sync: Int64) throws {
    try endEarlierPull()
    try database.run(
      "UPDATE next.pull SET sync = ?1, concluded = NULL WHERE sync <> ?1 OR concluded IS NOT NULL", .integer(sync))
    hasConclusion = false
  }

  // MARK: Pages

  /// Stores a page or an answer, and returns its place. A page replaces the one of its address.
  func insert(_ page: StagedPage, body: [UInt8], sync: Int64) throws -> Int64 {
    if hasNotes, let address = page.address {
      try database.run(
        "DELETE FROM next.seen WHERE resource = ?1 AND list = ?2 AND address = ?3", Value(page.resource),
        .integer(page.list), .text(address))
    }
    holdsBodies = true
    let insert = try database.statement(StagedPage.insert)
    page.bind(to: insert, sync: sync)
    try insert.run()
    let place = insert.lastID
    let bodies = try database.statement("INSERT INTO next.body VALUES (?1, ?2)")
    bodies.bind(1, place)
    bodies.bind(2, blob: body)
    try bodies.run()
    return place
  }

  /// The facts of a stored page.
  func page(at place: Int64) throws -> StagedPage {
    guard let page = try database.first(StagedPage.select, .integer(place), read: StagedPage.init) else {
      throw SQLiteError.damaged("next.page lacks the page \(place)")
    }
    return page
  }

  /// The body of a stored page, which is valid until the next call.
  func body(at place: Int64) throws -> UnsafeBufferPointer<UInt8> {
    let look = try database.statement("SELECT body FROM next.body WHERE place = ?1")
    look.bind(1, place)
    defer { look.reset() }
    guard try look.step() else { throw SQLiteError.damaged("next.body lacks the page \(place)") }
    return body.hold(look.row.utf8(0))
  }
}

/// The decisions about a whole pull that was not published. A reader needs them to compare the pull with the snapshot
/// as the publication would.
struct PullConclusion {
  struct Part {
    let removal: RemovalDecision.Removal
    /// Only the records that changed were pulled.
    let isIncremental: Bool
  }

  /// The sync that pulled it.
  var sync: Int64
  /// True if the sync was fresh, so that it requested every list.
  var isFresh: Bool
  /// One part for each resource, in the order of the definitions.
  var parts: [Part]
}

/// The body that was read last.
private final class BodyBuffer {
  private var memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)

  deinit { memory.deallocate() }

  func hold(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    if memory.count < bytes.count {
      memory.deallocate()
      memory = .allocate(capacity: bytes.count)
    }
    _ = memory.update(fromContentsOf: bytes)
    return UnsafeBufferPointer(rebasing: memory[..<bytes.count])
  }
}
