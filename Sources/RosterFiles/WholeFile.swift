package import Glibc

/// A failed call on a file.
package struct FileError: Error, Equatable, CustomStringConvertible {
  /// An infinitive: "flush".
  package var step: String
  /// Path of the file.
  package var path: String
  /// Cause of the failure.
  package var error: SystemError

  /// A clause such as "cannot flush /run/x: Input/output error".
  package var description: String { "cannot \(step) \(path): \(error.text)" }

  /// The error of the call that just failed.
  static func last(_ step: String, path: String) -> Self { Self(step: step, path: path, error: .last) }
}

/// The user and the group that a file belongs to.
package struct FileOwner: Sendable, Equatable {
  /// Id of the user.
  package var user: uid_t
  /// Id of the group.
  package var group: gid_t

  /// Stores both ids. It does not change any file.
  package init(user: uid_t, group: gid_t) {
    self.user = user
    self.group = group
  }
}

/// A file with one writer that is always replaced as a whole. Even after a crash or on a full disk, readers see either
/// the old or the new content.
package struct WholeFile: Sendable {
  /// Path of the file. Its folder must exist.
  package let path: String
  /// Mode of the new file, whatever the umask.
  package let mode: UInt32
  /// Owner of the new file; nil for the process's own user and group, or the folder's if the process is root (P14.1).
  package let owner: FileOwner?
  /// A path in the same folder as the file, since rename(2) is atomic only within a file system.
  package let temporaryPath: String

  /// Stores the settings. It does not write yet.
  /// - Parameter isUsers: True for a file of a user, who may have another file `PATH.new` beside it.
  package init(_ path: String, mode: UInt32, owner: FileOwner? = nil, isUsers: Bool = false) {
    self.path = path
    self.mode = mode
    self.owner = owner
    temporaryPath = path + (isUsers ? ".\(getpid()).new" : ".new")
  }

  /// Replaces the file. If `durably`, it returns only when the new file would survive a power cut.
  package func replace(with bytes: [UInt8], durably: Bool = true) throws(FileError) {
    do throws(FileError) {
      try writeTemporary(bytes, isDurable: durably)
      guard rename(temporaryPath, path) == 0 else { throw .last("replace", path: path) }
    } catch {
      unlink(temporaryPath)
      throw error
    }
    if durably { try flushFolder(parentFolder(of: path)) }
  }

  /// Throws if the file could not be replaced durably by one with these bytes now. It writes and flushes them to a
  /// probe beside the file, which loses its name before it has content, so that a crash leaves none.
  package func expectReplaceable(with bytes: [UInt8]) throws(FileError) {
    guard unlink(temporaryPath) == 0 || errno == ENOENT else { throw .last("remove", path: temporaryPath) }
    let probe = path + ".probe"
    let file = try create(probe)
    defer { close(file) }
    unlink(probe)
    try fill(file, with: bytes, isDurable: true, at: probe)
  }

  /// Removes the file if it exists.
  package func remove() { unlink(path) }

  private func writeTemporary(_ bytes: [UInt8], isDurable: Bool) throws(FileError) {
    let file = try create(temporaryPath)
    defer { close(file) }
    if let owner {
      guard fchown(file, owner.user, owner.group) == 0 else { throw .last("set the owner of", path: temporaryPath) }
    } else {
      giveToFolderOwner(file, at: path)
    }
    // The umask may have removed even the owner's bits.
    guard fchmod(file, mode) == 0 else { throw .last("set the mode of", path: temporaryPath) }
    try fill(file, with: bytes, isDurable: isDurable, at: temporaryPath)
  }

  /// - Returns: A descriptor of the new, empty file.
  private func create(_ path: String) throws(FileError) -> CInt {
    // An earlier crash may have left it.
    unlink(path)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
    guard file >= 0 else { throw .last("create", path: path) }
    return file
  }

  private func fill(_ file: CInt, with bytes: [UInt8], isDurable: Bool, at path: String) throws(FileError) {
    do throws(SystemError) { try write(bytes, to: file) } catch {
      throw FileError(step: "write", path: path, error: error)
    }
    guard !isDurable || fsync(file) == 0 else { throw .last("flush", path: path) }
  }
}
