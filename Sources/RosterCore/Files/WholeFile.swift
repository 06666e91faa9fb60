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
  /// Owner of the new file; nil for the process's own user and group, or the folder's if the process is root.
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

/// The result of stat(2), which follows links; nil if the file is missing or may not be looked at (errno says which).
package func fileStatus(_ path: String) -> stat? {
  var found = stat()
  return stat(path, &found) == 0 ? found : nil
}

/// Size in bytes; 0 if the file is missing.
package func fileSize(_ path: String) -> Int64 { fileStatus(path).map { Int64($0.st_size) } ?? 0 }

/// The text of a symbolic link; nil if the path names no link.
package func linkTarget(_ path: String) -> String? {
  var text = [CChar](repeating: 0, count: Int(PATH_MAX))
  let count = readlink(path, &text, text.count)
  return count < 0 ? nil : String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

extension Failure {
  /// Advice for a user after a call on one of rosterd's files failed with this errno (errno(3)).
  /// - Parameter path: the cache or the token store. The names of the files beside it begin with the same path.
  package static func hint(for code: Int32, writing path: String, else hint: String) -> String {
    [EACCES, EPERM].contains(code) ? writeHint(path) : self.hint(for: code, else: hint)
  }

  /// Advice on how to let rosterd's user write a file.
  package static func writeHint(_ path: String) -> String {
    "rosterd's user must be able to write the file and its folder, not only read them; if root made it: "
      + "chown --reference=\(parentFolder(of: path)) \(path)*"
  }
}

/// A number of errno(3) with its text for people.
package struct SystemError: Error, Equatable {
  /// The number as in errno, which is positive.
  package var code: CInt

  /// Makes the error of a call that returns the number itself.
  package init(code: CInt) { self.code = code }

  /// The error of the call that just failed.
  package static var last: Self { Self(code: errno) }

  /// A text such as "No such file or directory".
  package var text: String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
