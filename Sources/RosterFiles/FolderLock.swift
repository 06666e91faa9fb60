import Glibc

/// Runs `body` while no other process does the same for a file in that folder (flock(2)). A file that is replaced by
/// rename(2) cannot be locked itself. On a file system that cannot lock a folder, and in a folder that
/// may not be read, `body` runs without a lock.
/// - Throws: `FileError` if the folder cannot be opened, and what `body` throws.
package func withFolderLocked<Result>(of path: String, _ body: () throws -> Result) throws -> Result {
  let folder = parentFolder(of: path)
  let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  if descriptor < 0, errno == EACCES { return try body() }
  guard descriptor >= 0 else { throw FileError.last("open", path: folder) }
  defer { close(descriptor) }
  while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
  return try body()
}
