import Glibc

/// Reads a file, or a pipe that has a writer. A file larger than `limit` throws EFBIG.
package func contents(of path: String, limit: Int) throws(SystemError) -> [UInt8] {
  var about = stat()
  // To open a named pipe without a writer would block, perhaps for ever. `<(command)` and `/dev/stdin` are already
  // open.
  let mayWait = stat(path, &about) == 0 && about.st_mode & S_IFMT == S_IFIFO && !path.hasPrefix("/dev/")
  if mayWait { throw SystemError(code: EINVAL) }
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw .last }
  defer { close(descriptor) }
  // One byte more than the file has, so that the next read finds its end.
  var bytes = [UInt8](repeating: 0, count: min(limit, max(Int(about.st_size), 4096)) + 1)
  var filled = 0
  while filled <= limit {
    if filled == bytes.count { bytes += [UInt8](repeating: 0, count: min(filled, limit + 1 - filled)) }
    let count = bytes.withUnsafeMutableBytes {
      read(descriptor, $0.baseAddress?.advanced(by: filled), $0.count - filled)
    }
    if count < 0 && errno == EINTR { continue }
    guard count >= 0 else { throw .last }
    if count == 0 { return Array(bytes.prefix(filled)) }
    filled += count
  }
  throw SystemError(code: EFBIG)
}

/// Writes all bytes, with as many calls as that takes, and retries interrupted calls.
package func write(_ bytes: [UInt8], to descriptor: CInt) throws(SystemError) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    guard count >= 0 else { throw .last }
    rest = rest.dropFirst(count)
  }
}
