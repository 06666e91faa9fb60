package import FoundationEssentials
import Glibc
internal import Logging
internal import RosterModel

/// What a running rosterd does about files that were damaged, removed or replaced, and about a disk that was full.
extension Cache {
  /// After a failure: where damage was the cause, moves the cache aside and makes it anew, or drops what was pulled.
  /// What the disk does not give is looked at again by the next sync. Returns where the damaged cache is now; nil where
  /// the cache itself is sound.
  package func recover(at date: Date) throws -> String? {
    guard metDamage, let database else { return nil }
    do {
      // Twice, as in `connectTwice`.
      do { try verify(database) } catch let error as SQLiteError where error.kind == .damaged { try verify(database) }
      metDamage = false
      try renewPulled(database, because: "it is damaged")
      files = FileIdentity.Parts(path, pulled: pulledPath)
      return nil
    } catch let error as SQLiteError where error.kind == .damaged {
      // It is kept as it was found.
      database.checkpointOnClose(false)
      shut()
      let aside = try replace(at: date)
      metDamage = false
      return aside
    } catch let error as SQLiteError {
      throw error.failure("recover the cache", path)
    }
  }

  /// A reader met what a sound cache would not show; the next sync looks at all of it first.
  func suspectDamage() { metDamage = true }

  /// Sees to it that what is written will be found under its name: a file that was removed or replaced since is open
  /// here and nowhere else.
  func putRight(at date: Date) throws {
    guard let database else { return try start(at: date) }
    let found = FileIdentity.Parts(path, pulled: pulledPath)
    guard found != files else { return }
    if found.database != files.database {
      logger.error("the cache was removed or replaced under rosterd", metadata: ["path": "\(path)"])
      leave(database, found)
    } else if found.log != files.log || found.index != files.index {
      logger.error("the cache's -wal or -shm was removed under rosterd", metadata: ["path": "\(path)"])
      // What they hold is nowhere else: where this fails, they stay open until it works.
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

  /// Throws 73 where readers would not see what is published: the file that is open here has its name no more.
  /// - Parameter withLog: Before COMMIT `-wal` and `-shm` too; after it they are put right by the next sync, which
  ///   loses nothing.
  func expectInPlace(withLog: Bool) throws {
    let found = FileIdentity.Parts(path, pulled: pulledPath)
    if found.database == files.database, !withLog || found.log == files.log && found.index == files.index { return }
    throw Failure(
      .cannotWrite, step: "publish the snapshot", subject: path,
      cause: "its file was removed or replaced during the sync",
      hint: "the next sync makes it anew and pulls what is missing; let no other program move it while rosterd runs")
  }

  /// The file that went gets what is its own, wherever it is now; its log must not be played into the one that came.
  private func leave(_ database: Database, _ found: FileIdentity.Parts) {
    _ = try? database.checkpoint(.passive)
    database.checkpointOnClose(false)
    for (part, identity, own) in [("-wal", found.log, files.log), ("-shm", found.index, files.index)]
    where identity != nil && identity == own {
      unlink(path + part)
    }
  }

  /// The same, unless a disk that does not read is behind it, or a table that is missing.
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
    /// Every page, and the index of words in itself.
    case pages
    /// Every index against its table too, and the index of words against the records: twice the time.
    case contents
  }

  func verify(_ database: Database, _ depth: Depth = .contents) throws {
    let (check, rank) = depth == .pages ? ("quick_check", 0) : ("integrity_check", 1)
    do {
      try Schema.look(database)
      let found = try database.first("PRAGMA main.\(check)(1)") { $0.text(0) }
      guard found == "ok" else { throw SQLiteError.damaged(found ?? "") }
      for check in try indexChecks(rank, database) { try database.execute(check) }
    } catch let error as SQLiteError where error.kind == .damaged || error.kind == .other {
      throw try Self.damage(error, in: database)
    }
  }

  /// The checks and the index of words tell a page that the disk did not give as a damaged one: then this throws what
  /// the disk says.
  static func damage(_ error: SQLiteError, in database: Database) throws -> SQLiteError {
    try database.readThrough()
    return .damaged(error.message)
  }

  private func indexChecks(_ rank: Int, _ database: Database) throws -> [String] {
    let published = Set(try database.rows("SELECT name FROM main.resources") { $0.text(0) })
    return schema.tables.filter { published.contains($0.resource.name) }.compactMap { $0.checkIndex(rank: rank) }
  }
}
