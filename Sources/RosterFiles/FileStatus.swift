package import Glibc

/// What stat(2) says of a file, links followed; nil: there is none, or it may not be looked at, as errno tells.
package func fileStatus(_ path: String) -> stat? {
  var found = stat()
  return stat(path, &found) == 0 ? found : nil
}

/// In bytes; 0: there is no such file.
package func fileSize(_ path: String) -> Int64 { fileStatus(path).map { Int64($0.st_size) } ?? 0 }
