import RosterFiles

/// Sizes of the cache's files in bytes.
package struct FileSizes: Sendable, Equatable {
  /// Size of the file itself.
  package var database: Int64
  /// Size of its write-ahead log.
  package var wal: Int64

  /// Uses stat(2), never the database. A missing file has size 0.
  package static func on(cachePath: String) -> FileSizes {
    FileSizes(database: fileSize(cachePath), wal: fileSize(cachePath + "-wal"))
  }
}
