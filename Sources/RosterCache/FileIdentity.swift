import CSQLite
import Glibc

/// A file by what it is, not by its name. The inode's number alone is given out again to the next file.
struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t
  /// Nanoseconds since 1970; 0 where the file system does not keep it.
  private let born: Int64

  /// nil: there is none.
  init?(_ path: String) {
    guard let found = CacheFile.status(path) else { return nil }
    device = found.st_dev
    inode = found.st_ino
    born = roster_birth(path)
  }

  /// To be held against that of another day. Without the device, whose number a mount may change.
  var text: String { "\(inode) \(born)" }

  /// The files that a writer has open.
  struct Parts: Equatable {
    var database: FileIdentity?
    var log: FileIdentity?
    var index: FileIdentity?
    var pulled: FileIdentity?

    init() {}

    /// Those that readers open.
    init(_ path: String) {
      database = FileIdentity(path)
      log = FileIdentity(path + "-wal")
      index = FileIdentity(path + "-shm")
    }

    init(_ path: String, pulled: String) {
      self.init(path)
      self.pulled = FileIdentity(pulled)
    }

    /// A reader finds all of them.
    var isWhole: Bool { database != nil && log != nil && index != nil }
  }
}
