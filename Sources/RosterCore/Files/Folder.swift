import Glibc

/// Makes the missing folders on the path of a file. They survive a power cut. Throws a Failure 73.
/// - Parameter mode: `mode_t` of the new folders, whatever the umask. Other users need to pass through the folders
///   above the cache, and must not pass through those above the token store.
package func makeFolder(of path: String, mode: UInt32) throws(Failure) {
  let parts = path.split(separator: "/").dropLast()
  var folder = path.hasPrefix("/") ? "" : "."
  for part in parts {
    folder += "/\(part)"
    do throws(FileError) { try make(folder, mode: mode) } catch {
      throw Failure(
        .cannotWrite, step: error.step, subject: error.path, cause: error.error.text,
        hint: Failure.hint(
          for: error.error.code, else: "make it, or give the path of one that this user may write to")
      ).with(Diagnosis.Kind(errno: error.error.code))
    }
  }
}

private func make(_ folder: String, mode: UInt32) throws(FileError) {
  guard mkdir(folder, mode) == 0 else {
    if errno == EEXIST || errno == EISDIR { return }
    throw .last("make the folder", path: folder)
  }
  do throws(FileError) {
    guard chmod(folder, mode) == 0 else { throw .last("make the folder", path: folder) }
    giveToFolderOwner(folder)
    try flushFolder(parentFolder(of: folder))
  } catch {
    // A later start would assume that the folder is durable.
    rmdir(folder)
    throw error
  }
}

/// A name that was created, changed or removed in a folder is durable only after the folder itself was flushed
/// (fsync(2)).
func flushFolder(_ folder: String) throws(FileError) {
  let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard directory >= 0 else { throw .last("open", path: folder) }
  defer { close(directory) }
  guard fsync(directory) == 0 else { throw .last("flush", path: folder) }
}

/// The folder part of a path, without a look at the file system: "." for a bare name.
package func parentFolder(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// The mount point of the file system that has the file, as df(1) prints it.
package func mountPoint(of path: String) -> String {
  var folder = parentFolder(of: path)
  guard let device = Inode(folder)?.device else { return folder }
  while folder != "/", folder != ".", Inode(parentFolder(of: folder))?.device == device {
    folder = parentFolder(of: folder)
  }
  return folder
}

/// Gives a file that root has created to the owner and group of its folder, because the service could not write
/// it otherwise. Does nothing for other users, or if the file system or a container refuses.
package func giveToFolderOwner(_ descriptor: CInt, at path: String) {
  var found = stat()
  guard fstat(descriptor, &found) == 0, let owner = newOwner(of: found, at: path) else { return }
  _ = fchown(descriptor, owner.user, owner.group)
}

/// Does the same for a folder or a socket.
package func giveToFolderOwner(_ path: String) {
  var found = stat()
  guard lstat(path, &found) == 0, [S_IFDIR, S_IFSOCK].contains(found.st_mode & S_IFMT),
    let owner = newOwner(of: found, at: path)
  else { return }
  _ = lchown(path, owner.user, owner.group)
}

/// nil if the file keeps its owner and group.
private func newOwner(of file: stat, at path: String) -> (user: uid_t, group: gid_t)? {
  guard geteuid() == 0, file.st_uid == 0, let folder = fileStatus(parentFolder(of: path)) else { return nil }
  guard folder.st_uid != file.st_uid || folder.st_gid != file.st_gid else { return nil }
  // A file with a second hard link may be one of root's own files that the folder's owner has linked here.
  guard file.st_mode & S_IFMT == S_IFDIR || file.st_nlink == 1 else { return nil }
  return (folder.st_uid, folder.st_gid)
}

/// Identity of a file while it exists, whatever its name. The number is reused after the file was removed.
package struct Inode: Sendable, Equatable {
  /// `st_dev` of stat(3type).
  package let device: UInt
  /// `st_ino`.
  package let number: UInt

  /// The file with this name; nil if it is missing or may not be looked at.
  /// - Parameter following: true to look at the target of a symbolic link instead of the link.
  package init?(_ path: String, following: Bool = true) {
    var found = stat()
    guard following ? stat(path, &found) == 0 : lstat(path, &found) == 0 else { return nil }
    self.init(found)
  }

  /// The file that a descriptor has open.
  package init?(descriptor: CInt) {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { return nil }
    self.init(found)
  }

  private init(_ found: stat) { (device, number) = (found.st_dev, found.st_ino) }
}
