import CSQLite
internal import RosterFiles
import Synchronization

/// Places SQLite's temporary files beside the cache. A large change then needs room on a file system that the operator
/// chose, not in /tmp, which may be small or in memory. The process has one such folder
/// (sqlite.org/c3ref/temp_directory.html): that of the first cache it opens. If the folder is missing, SQLite uses the
/// system's.
enum TemporaryFiles {
  private static let isSet = Mutex(false)

  static func keep(in path: String) {
    isSet.withLock { isSet in
      if isSet { return }
      isSet = true
      roster_set_temporary_folder(parentFolder(of: path))
    }
  }
}
