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
