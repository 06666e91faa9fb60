import CSQLite
import Glibc
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
      roster_prepare_sqlite(FileName.folder(of: path))
    }
  }
}

/// A path's parts.
enum FileName {
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Where the file system that holds a file begins: what a person finds in `df`.
  static func mountPoint(of path: String) -> String {
    var folder = folder(of: path)
    guard let device = CacheFile.status(folder)?.st_dev else { return folder }
    while folder != "/", folder != ".", CacheFile.status(Self.folder(of: folder))?.st_dev == device {
      folder = Self.folder(of: folder)
    }
    return folder
  }
}
