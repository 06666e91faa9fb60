import Glibc
internal import RosterCore

/// A listening Unix socket. It gets its name when it can answer, and removes only its own name.
struct SocketFile {
  let descriptor: Int32
  private let path: String
  private let temporary: String

  /// Listens under a temporary name beside `path`, with the mode of the later socket. Creates a missing folder.
  init(path: String, mode: UInt16) throws(Failure) {
    let folder = parentFolder(of: path)
    guard path.utf8.count <= UnixSocket.maxPath else {
      throw Self.failure(
        path, cause: "the path is too long for a socket", code: nil, hint: "choose a shorter status.socket")
    }
    if mkdir(folder, 0o755) != 0, errno != EEXIST {
      throw Self.failure(path, cause: "cannot make the folder", code: errno)
    }
    try Self.checkFree(path)
    let descriptor = socket(AF_UNIX, UnixSocket.stream, 0)
    if descriptor < 0 { throw Self.failure(path, cause: "socket", code: errno) }
    self.descriptor = descriptor
    self.path = path
    let name = ".rosterd-" + String(getpid(), radix: 36)
    temporary = "\(folder)/\(name)"
    do {
      try listen(mode: mode, in: folder, as: name)
    } catch {
      unlink(temporary)
      close(descriptor)
      throw error
    }
  }

  /// Gives the socket its name, and replaces a socket that a dead daemon left.
  func publish() throws(Failure) {
    try Self.checkFree(path)
    if rename(temporary, path) != 0 { throw Self.failure(path, cause: "rename", code: errno) }
  }

  /// Removes the temporary name of a socket that was not published.
  func abandon() {
    unlink(temporary)
  }

  /// Removes the name, unless it belongs to another file now.
  func remove(_ identity: Inode?) {
    if let identity, identity == self.identity { unlink(path) }
  }

  /// Sets the mode, unless the name belongs to no file or to another one now. Returns false, with errno, if the mode
  /// cannot be set.
  static func setMode(_ mode: UInt16, path: String, identity: Inode?) -> Bool {
    // The descriptor stays with its file if the name changes meanwhile, and is not that of a link's target.
    let file = open(path, pathOnly | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { return errno == ENOENT }
    defer { close(file) }
    guard let identity, Inode(descriptor: file) == identity else { return true }
    return chmod("/proc/self/fd/\(file)", mode_t(mode)) == 0
  }

  /// `O_PATH` of open(2), which Glibc's module leaves out.
  private static let pathOnly: Int32 = 0o10_000_000

  /// The file that has the name now.
  var identity: Inode? { Inode(path, following: false) }

  /// Number of connections that the kernel holds until they are accepted. Beyond it, a client that does not wait, such
  /// as curl, fails at once (connect(2), EAGAIN). Linux allows no more than this by default (net.core.somaxconn).
  static let waiting: Int32 = 4096

  private func listen(mode: UInt16, in folder: String, as name: String) throws(Failure) {
    unlink(temporary)  // of an earlier process with this id
    if bind(in: folder, as: name) != 0 { throw Self.failure(path, cause: "bind", code: errno) }
    if chmod(temporary, mode_t(mode)) != 0 { throw Self.failure(path, cause: "chmod", code: errno) }
    giveToFolderOwner(temporary)
    if Glibc.listen(descriptor, Self.waiting) != 0 { throw Self.failure(path, cause: "listen", code: errno) }
  }

  /// Calls bind(2) with the temporary name. Uses the folder's descriptor if this path exceeds a socket's limit
  /// (unix(7)), although the socket's own path does not.
  private func bind(in folder: String, as name: String) -> Int32 {
    if let bound = UnixSocket.withAddress(of: temporary, { Glibc.bind(descriptor, $0, $1) }) { return bound }
    let place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(place) }
    return UnixSocket.withAddress(of: "/proc/self/fd/\(place)/\(name)") { Glibc.bind(descriptor, $0, $1) } ?? -1
  }

  /// Throws unless the name is free, or belongs to a socket that no program serves.
  private static func checkFree(_ path: String) throws(Failure) {
    var facts = stat()
    if lstat(path, &facts) != 0 { return }
    guard facts.st_mode & S_IFMT == S_IFSOCK else {
      throw failure(
        path, cause: "the file there is not a socket", code: nil, hint: "remove it or choose another status.socket")
    }
    let probe = socket(AF_UNIX, UnixSocket.stream, 0)
    defer { close(probe) }
    let answer = UnixSocket.withAddress(of: path) { connect(probe, $0, $1) == 0 ? 0 : errno }
    if let obstacle = obstacle(answer) {
      throw failure(path, cause: obstacle, code: nil, hint: "stop it or choose another status.socket")
    }
  }

  /// The obstacle, by the result of connect(2); nil for a stale socket.
  static func obstacle(_ answer: Int32?) -> String? {
    switch answer {
    case ECONNREFUSED: nil
    case EACCES, EPERM: "a socket is there that this user may not use"
    default: "another program answers on the socket"
    }
  }

  static func failure(_ path: String, cause: String, code: Int32?, hint: String? = nil) -> Failure {
    let reason = code.map { ": " + SystemError(code: $0).text } ?? ""
    return Failure(.cannotWrite, step: "open the status socket", subject: path, cause: cause + reason, hint: hint)
  }
}
