import Glibc
internal import Logging
internal import RosterCore

extension Cache {
  /// True until a cache of an older version is replaced.
  package nonisolated var hasOlder: Bool { file != path }

  /// Gives the successor the name of the older cache, because it has a snapshot. If that fails, the next sync or start
  /// tries it again.
  func replaceOlder() {
    guard hasOlder, let database else { return }
    do {
      guard let version = try Self.version(at: path) else { return }
      guard try database.count("SELECT snapshot IS NOT NULL FROM main.cache_info") == 1 else { return }
      guard try database.checkpoint(.truncate), try Self.writeBack(path) else {
        return logger.notice("a reader delays the new cache", metadata: ["path": "\(path)"])
      }
      shut()
      let (aside, pulled) = (MovedCaches.older(path, version: version), pulledPath)
      try CacheFile.replace(path, by: file, aside: aside)
      file = path
      // The file of pulled pages knows which cache was written last.
      for part in CacheFile.parts { rename(pulled + part, pulledPath + part) }
      OlderCache.removeLeftovers(path)
      logger.notice("the cache of an older version was moved aside", metadata: ["path": "\(aside)"])
    } catch {
      logger.error("cannot replace the cache of an older version: \(error)", metadata: ["path": "\(path)"])
    }
    do { if self.database == nil { try connect() } } catch {
      logger.error("cannot open the cache again: \(error)", metadata: ["path": "\(file)"])
    }
  }

  /// The version of the older cache; 0 if a user has removed it; nil if another cache has its name now.
  private static func version(at path: String) throws -> Int? {
    switch try CacheFile.inspect(path, hadLock: true) {
    case .older(let version): version
    case .absent: 0
    case .ours, .damaged: nil
    }
  }

  /// Writes the log of the older cache back, so that its file is whole under any name. Returns false if a reader
  /// prevents that.
  private static func writeBack(_ path: String) throws -> Bool {
    guard fileStatus(path) != nil else { return true }
    let older = try Database(path: path, access: .writer)
    defer { older.close() }
    // A reader that may not write cannot create the parts again.
    try older.keepLog()
    do {
      // A connection that has read nothing has not opened the log, and a checkpoint of it does nothing.
      _ = try older.count("SELECT count(*) FROM main.sqlite_schema")
      return try older.checkpoint(.truncate)
    } catch let error as SQLiteError where error.kind == .damaged {
      // It is moved aside with its log.
      return true
    }
  }
}
