import Glibc

/// Bytes of the cache's files.
package struct FileSizes: Sendable, Equatable {
  /// Of the file itself.
  package var database: Int64
  /// Of its write-ahead log.
  package var wal: Int64

  /// Of files that were measured.
  package init(database: Int64, wal: Int64) {
    self.database = database
    self.wal = wal
  }

  /// Asks stat(2), never the database; 0 for a file that is not there.
  package static func on(cachePath: String) -> FileSizes {
    FileSizes(database: size(cachePath), wal: size(cachePath + "-wal"))
  }

  private static func size(_ path: String) -> Int64 {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : 0
  }
}
