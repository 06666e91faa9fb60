package import Glibc

/// A call on a file that failed.
package struct FileError: Error, Equatable {
  /// An infinitive: "flush".
  package var step: String
  /// On what.
  package var path: String
  /// Why.
  package var error: SystemError

  /// As errno was left by the call that just failed.
  static func last(_ step: String, _ path: String) -> Self { Self(step: step, path: path, error: .last) }
}

/// The user and the group that a file belongs to.
package struct FileOwner: Sendable, Equatable {
  /// Id of the user.
  package var user: uid_t
  /// Id of the group.
  package var group: gid_t

  /// Changes nothing yet.
  package init(user: uid_t, group: gid_t) {
    self.user = user
    self.group = group
  }
}

/// A file of one writer that is replaced as a whole: a reader, a crash or a full disk sees the old one or the new one.
package struct WholeFile: Sendable {
  /// Its folder is there.
  package let path: String
  /// Of the new file, whatever the umask.
  package let mode: UInt32
  /// Owner of the new file; nil: the process's own user and group, and for root those of the folder (P14.1).
  package let owner: FileOwner?

  /// Writes nothing yet.
  package init(_ path: String, mode: UInt32, owner: FileOwner? = nil) {
    self.path = path
    self.mode = mode
    self.owner = owner
  }

  /// In the same folder, since rename(2) is atomic only within a file system.
  package var temporaryPath: String { path + ".new" }

  /// Returns when the new file would survive a power cut, unless it need not.
  package func replace(with bytes: [UInt8], durably: Bool = true) throws(FileError) {
    do throws(FileError) {
      try writeTemporary(bytes, durably)
      guard rename(temporaryPath, path) == 0 else { throw .last("replace", path) }
    } catch {
      unlink(temporaryPath)
      throw error
    }
    if durably { try flushFolder(parentFolder(of: path)) }
  }

  /// Nothing where there is none.
  package func remove() { unlink(path) }

  private func writeTemporary(_ bytes: [UInt8], _ durably: Bool) throws(FileError) {
    // A crash may have left one.
    unlink(temporaryPath)
    let file = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
    guard file >= 0 else { throw .last("create", temporaryPath) }
    defer { close(file) }
    if let owner {
      guard fchown(file, owner.user, owner.group) == 0 else { throw .last("set the owner of", temporaryPath) }
    } else {
      giveToFolderOwner(file, at: path)
    }
    // The umask may have taken the owner's bits too.
    guard fchmod(file, mode) == 0 else { throw .last("set the mode of", temporaryPath) }
    do throws(SystemError) { try write(bytes, to: file) } catch {
      throw FileError(step: "write", path: temporaryPath, error: error)
    }
    guard !durably || fsync(file) == 0 else { throw .last("flush", temporaryPath) }
  }
}
