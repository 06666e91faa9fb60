import FoundationEssentials
import Glibc
internal import Logging
internal import RosterCore

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
