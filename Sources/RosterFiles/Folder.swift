import Glibc
package import RosterModel

/// Makes the folder that a file lies in, and those above it, where they are not there yet. Throws a Failure 73.
/// - Parameter mode: as `mode_t`, of the folders that are made, whatever the umask: others need to pass through those
///   above the cache (section 5), nobody through the token store's.
package func makeFolder(of path: String, mode: UInt32) throws(Failure) {
  let parts = path.split(separator: "/").dropLast()
  var folder = path.hasPrefix("/") ? "" : "."
  for part in parts {
    folder += "/\(part)"
    if mkdir(folder, mode) == 0 ? chmod(folder, mode) == 0 : errno == EEXIST || errno == EISDIR { continue }
    let error = SystemError.last
    throw Failure(
      .cannotWrite, step: "make the folder", subject: folder, cause: error.text,
      hint: Failure.hint(for: error.code, else: "make it, or give the path of one that this user may write to")
    ).with(Trouble.Kind(errno: error.code))
  }
}

/// The folder that a file lies in, by its path alone: "." for a bare name.
package func parentFolder(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// Where the file system that holds a file begins: what a person finds in df(1).
package func mountPoint(of path: String) -> String {
  var folder = parentFolder(of: path)
  guard let device = Inode(folder)?.device else { return folder }
  while folder != "/", folder != ".", Inode(parentFolder(of: folder))?.device == device {
    folder = parentFolder(of: folder)
  }
  return folder
}
