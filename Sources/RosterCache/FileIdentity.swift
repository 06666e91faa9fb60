import CSQLite
internal import RosterFiles

/// Identifies a file independently of its name. An inode number alone is reused for the next file.
struct FileIdentity: Equatable {
  private let inode: Inode
  /// Nanoseconds since 1970; 0 where the file system does not keep it.
  private let born: Int64

  /// nil if the file does not exist.
  init?(_ path: String) {
    guard let inode = Inode(path) else { return nil }
    self.inode = inode
    born = roster_birth(path)
  }

  /// Text that can be compared with an earlier one. It omits the device, whose number a mount may change.
  var text: String { "\(inode.number) \(born)" }

  /// The files that a writer has open.
  struct Parts: Equatable {
    var database: FileIdentity?
    var log: FileIdentity?
    var index: FileIdentity?
    var pulled: FileIdentity?

    init() {}

    /// The files that readers open.
    init(_ path: String) {
      database = FileIdentity(path)
      log = FileIdentity(path + "-wal")
      index = FileIdentity(path + "-shm")
    }

    init(_ path: String, pulled: String) {
      self.init(path)
      self.pulled = FileIdentity(pulled)
    }

    /// True if the database and both files of its log exist, so that a reader can open it.
    var isWhole: Bool { database != nil && log != nil && index != nil }
  }
}
