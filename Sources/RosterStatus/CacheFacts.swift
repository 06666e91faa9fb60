import Glibc

/// What the status tells of the snapshot that readers see.
package struct CacheFacts: Sendable, Equatable {
  /// `syncs.id` of the snapshot; nil: none yet.
  package var snapshot: Int64?
  package var publishedAt: String?
  /// End of the last published or unchanged sync.
  package var verifiedAt: String?
  package var characters: Int
  package var pages: Int
  /// A reader's transaction keeps `-wal` from being written back.
  package var isLogHeld: Bool

  package init(
    snapshot: Int64? = nil, publishedAt: String? = nil, verifiedAt: String? = nil, characters: Int = 0, pages: Int = 0,
    isLogHeld: Bool = false
  ) {
    self.snapshot = snapshot
    self.publishedAt = publishedAt
    self.verifiedAt = verifiedAt
    self.characters = characters
    self.pages = pages
    self.isLogHeld = isLogHeld
  }
}

/// Bytes of the cache's files.
package struct FileSizes: Sendable, Equatable {
  package var database: Int64
  package var wal: Int64

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
