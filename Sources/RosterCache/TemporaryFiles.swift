import CSQLite
internal import RosterFiles
import Synchronization

/// SQLite's temporary files lie beside the cache: what a large change needs there is needed on a file system that the
/// operator chose, not in /tmp, which may be small or in memory. One place for the process
/// (sqlite.org/c3ref/temp_directory.html): that of the first cache it opens. Where it is gone SQLite takes the
/// system's.
enum TemporaryFiles {
  private static let isSet = Mutex(false)

  static func keep(in path: String) {
    isSet.withLock { isSet in
      if isSet { return }
      isSet = true
      roster_prepare_sqlite(parentFolder(of: path))
    }
  }
}
