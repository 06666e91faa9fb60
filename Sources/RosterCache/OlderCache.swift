import FoundationEssentials
import Glibc
internal import Logging
internal import RosterCore

/// A cache of an older version. Its rows are not converted. A new cache beside it, its successor, pulls everything, and
/// takes its name with the first publication. Readers see the older one until then.
enum OlderCache {
  /// `<path>.successor`
  static func successor(of path: String) -> String { path + ".successor" }

  /// The file that the writer of the cache at `path` opens.
  static func file(of path: String, _ found: CacheFile.State) -> String {
    switch found {
    case .older: successor(of: path)
    case .absent, .ours, .damaged: path
    }
  }

  /// Removes what a switch that was cut short has left. The file itself has the cache's name already, or the cache was
  /// replaced by another one. A file of another program stays.
  static func removeLeftovers(_ path: String) {
    let successor = successor(of: path)
    if (try? CacheFile.inspect(successor, hadLock: false)) != nil { try? CacheFile.remove(successor) }
    if (try? Staging.inspect(successor + ".next", identity: nil)) != nil { try? CacheFile.remove(successor + ".next") }
    if let aside = MovedCaches.latestOlder(path) { protect(aside, of: path) }
  }

  /// Only rosterd's user may read the file: its definitions may have keys in clear text. The pages that 0.2 had
  /// pulled belong to it.
  static func protect(_ aside: String, of path: String) {
    rename(path + ".pulled", aside + ".pulled")
    for part in CacheFile.parts { chmod(aside + part, CacheFile.privateMode) }
  }
}

/// Caches that were moved aside: damaged ones as `<path>.damaged-<time>`, and those of older versions as
/// `<path>.schema-<version>`.
enum MovedCaches {
  /// Enough damaged copies to examine, even if a disk damages one file after another.
  static let most = 3

  static func damaged(_ path: String, at date: Date) -> String { "\(path).damaged-\(date.rfc3339)" }

  static func older(_ path: String, version: Int) -> String { "\(path).schema-\(version)" }

  /// Removes the oldest damaged copies beyond `most`.
  /// - Parameter parts: endings that their names may have.
  static func prune(_ path: String, parts: [String]) {
    for time in times(path, parts: parts).dropLast(most) {
      for part in parts { unlink("\(path).damaged-\(time)\(part)") }
    }
  }

  /// The path of the latest damaged copy; nil without a copy.
  static func latest(_ path: String) -> String? { times(path, parts: [""]).last.map { "\(path).damaged-\($0)" } }

  /// The time at which the latest damaged copy was moved aside; nil without a copy.
  static func latestTime(_ path: String) -> Date? { times(path, parts: [""]).last.flatMap { Date(rfc3339: $0) } }

  /// The path of the cache of the latest older version; nil without one.
  static func latestOlder(_ path: String) -> String? {
    (0..<Schema.version).map { older(path, version: $0) }.last { fileStatus($0) != nil }
  }

  private static func times(_ path: String, parts: [String]) -> [String] {
    let prefix = (path.split(separator: "/").last.map(String.init) ?? path) + ".damaged-"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: parentFolder(of: path))) ?? []
    let rests = names.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    return Set(rests.compactMap { time($0, parts: parts) }).sorted()
  }

  /// Returns nil for a name that rosterd does not give.
  private static func time(_ rest: String, parts: [String]) -> String? {
    let length = Date(timeIntervalSince1970: 0).rfc3339.count
    let time = String(rest.prefix(length))
    guard parts.contains(String(rest.dropFirst(length))), Date(rfc3339: time) != nil else { return nil }
    return time
  }
}

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
