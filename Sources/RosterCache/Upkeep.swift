package import FoundationEssentials
import Glibc
internal import Logging
internal import RosterCore

/// Handles files that were damaged, removed or replaced while rosterd runs, and a disk that was full.
extension Cache {
  /// Call this after a failure. If the cache is damaged, moves it aside and makes a new one. If only the pulled pages
  /// are damaged, drops them. A disk that cannot be read is tried again by the next sync. Returns the damaged cache's
  /// new path; nil if the cache itself is sound.
  package func recover(at date: Date) throws -> String? {
    guard isDamageSuspected, let database else { return nil }
    do {
      // The check runs twice, for the reason given at `connectTwice`.
      do { try verify(database) } catch let error as SQLiteError where error.kind == .damaged { try verify(database) }
      isDamageSuspected = false
      isChecked = true
      try renewPulled(database, because: "it is damaged")
      files = FileIdentity.Parts(file, pulled: pulledPath)
      return nil
    } catch let error as SQLiteError where error.kind == .damaged {
      // The damaged cache is kept unchanged.
      database.checkpointOnClose(false)
      shut()
      let aside = try replace(at: date)
      isDamageSuspected = false
      return aside
    } catch let error as SQLiteError {
      throw error.failure("recover the cache", path)
    }
  }

  /// Notes that a reader found a sign of damage. The next sync checks the whole cache first.
  func suspectDamage() { isDamageSuspected = true }

  /// Reopens files that were removed or replaced: without this, rosterd would write to a file that no other program can
  /// open.
  func reopenIfReplaced(at date: Date) throws {
    guard let database else { return try start(at: date) }
    if hasOlder, try CacheFile.inspect(path, hadLock: true) == .ours {
      logger.notice("another cache of this version has the path", metadata: ["path": "\(path)"])
      shut()
      return try start(at: date)
    }
    let found = FileIdentity.Parts(file, pulled: pulledPath)
    guard found != files else { return }
    if found.database != files.database {
      logger.error("the cache was removed or replaced under rosterd", metadata: ["path": "\(path)"])
      leave(database, found: found)
    } else if found.log != files.log || found.index != files.index {
      logger.error("the cache's -wal or -shm was removed under rosterd", metadata: ["path": "\(path)"])
      // The content of -wal and -shm exists nowhere else. If the checkpoint fails, they are kept open until it
      // succeeds.
      guard try database.checkpoint(.truncate) else { return }
      database.checkpointOnClose(false)
    } else {
      try renewPulled(database, because: "its file was removed or replaced")
      files.pulled = FileIdentity(pulledPath)
      return
    }
    shut()
    try start(at: date)
  }

  /// Throws 73 if readers would not see the publication, because the open file does not have its name any more.
  /// - Parameter includingWAL: Also checks `-wal` and `-shm`, as is done before COMMIT. After it, the next sync
  ///   reopens them without any loss.
  func verifyNotReplaced(includingWAL: Bool) throws {
    let found = FileIdentity.Parts(file, pulled: pulledPath)
    if found.database == files.database, !includingWAL || found.log == files.log && found.index == files.index {
      return
    }
    throw Failure(
      .cannotWrite, step: "publish the snapshot", subject: path,
      cause: "its file was removed or replaced during the sync",
      hint: "the next sync makes a new one and pulls what is missing; let no other program move it while rosterd runs"
    ).with(.replaced)
  }

  /// Writes the log back into the removed file. The log must not be replayed into the file that replaced it.
  private func leave(_ database: Database, found: FileIdentity.Parts) {
    _ = try? database.checkpoint(.passive)
    database.checkpointOnClose(false)
    for (part, identity, own) in [("-wal", found.log, files.log), ("-shm", found.index, files.index)]
    where identity != nil && identity == own {
      unlink(file + part)
    }
  }

  /// The actual cause of an error: a disk that cannot be read, or a missing table. Otherwise the same error.
  func diagnosis(of error: SQLiteError) -> SQLiteError {
    guard let database else { return error }
    do {
      if error.kind == .damaged { try database.readThrough() }
      if error.kind == .other { try Schema.look(database) }
    } catch let cause as SQLiteError where cause.kind == .damaged || cause.kind == .disk {
      return cause
    } catch {}
    return error
  }

  enum Depth {
    /// Checks every page, and that the index of words agrees with itself.
    case pages
    /// Also checks every index against its table, and the index of words against the records. This takes twice the
    /// time.
    case contents
  }

  func verify(_ database: Database, depth: Depth = .contents) throws {
    let (check, rank) = depth == .pages ? ("quick_check", 0) : ("integrity_check", 1)
    do {
      try Schema.look(database)
      let found = try database.first("PRAGMA main.\(check)(1)") { $0.text(0) }
      guard found == "ok" else { throw SQLiteError.damaged(found ?? "") }
      for check in try indexChecks(rank, in: database) { try database.execute(check) }
    } catch let error as SQLiteError where error.kind == .damaged || error.kind == .other {
      throw try Self.damage(error, in: database)
    }
  }

  /// SQLite and the index of words report a page that the disk could not read as damaged. This throws the disk's error
  /// in that case.
  static func damage(_ error: SQLiteError, in database: Database) throws -> SQLiteError {
    try database.readThrough()
    return .damaged(error.message)
  }

  private func indexChecks(_ rank: Int, in database: Database) throws -> [String] {
    try Schema(of: database).tables.compactMap { $0.checkIndex(rank: rank) }
  }
}
