import Glibc
package import RosterModel

/// Makes the missing folders on the path of a file. They survive a power cut. Throws a Failure 73.
/// - Parameter mode: `mode_t` of the new folders, whatever the umask. Other users need to pass through the folders
///   above the cache (section 5), and must not pass through those above the token store.
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
