import Dispatch
import FoundationEssentials
import Glibc
import RosterFiles
import RosterModel

/// The session on disk: a reader, a crash or a full disk sees the old file or the new one, whole (T4).
struct TokenStore: Sendable {
  let path: String
  /// fsync blocks, and the cooperative pool must not.
  private let queue = DispatchQueue(label: "rosterd.token-store")

  init(path: String) {
    self.path = path
  }

  private var folder: String { parentFolder(of: path) }

  /// The store's lock says that nobody else writes it.
  private var file: WholeFile { WholeFile(path, mode: 0o600) }
  var temporaryPath: String { file.temporaryPath }

  /// Far above what a few tokens take.
  private static let mostBytes = 1 << 20
  static let mostText = "1 MiB"
  /// What a session may be noted to have become later.
  private static let noteRoom = 4096

  /// Whether the store can give it back, also with what is noted of it later.
  static func fits(_ session: Session) -> Bool {
    (try? encoded(session)).map { $0.count <= mostBytes - noteRoom } ?? false
  }

  // MARK: Reading

  /// nil: none yet. Makes the folder. Throws `Failure` 73 for a store that is damaged, newer or out of reach, and
  /// leaves it as it is.
  func load() throws(Failure) -> Session? {
    try makeFolder()
    guard let bytes = try read() else { return nil }
    let decoder = JSONDecoder()
    guard let version = try? decoder.decode(StoredSession.Version.self, from: bytes) else {
      throw damaged("it is not the JSON that rosterd writes")
    }
    guard version.version == StoredSession.currentVersion else {
      throw .store(
        "open the token store", path,
        cause: "it has version \(version.version), and this rosterd knows \(StoredSession.currentVersion)",
        hint: "run the rosterd that wrote it, or move it away to start from the credential files")
    }
    guard let session = (try? decoder.decode(StoredSession.self, from: bytes))?.session else {
      throw damaged("a field is missing or wrong")
    }
    return session
  }

  private func damaged(_ what: String) -> Failure {
    .store(
      "open the token store", path, cause: "it is damaged: \(what)",
      hint: "move it away to start from the credential files")
  }

  private func read() throws(Failure) -> Data? {
    // A FIFO without a writer would be waited for.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if file < 0, errno == ENOENT { return nil }
    guard file >= 0 else { throw broken("open the token store", path) }
    defer { close(file) }
    var about = stat()
    guard fstat(file, &about) == 0 else { throw broken("open the token store", path) }
    guard about.st_mode & S_IFMT == S_IFREG else {
      throw .store(
        "open the token store", path, cause: "it is no regular file", hint: "name another one in auth.token_store")
    }
    var bytes = Data()
    var chunk = [UInt8](repeating: 0, count: 16384)
    while bytes.count <= Self.mostBytes {
      let count = Glibc.read(file, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw broken("read the token store", path) }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
    throw damaged("it is larger than \(Self.mostText)")
  }

  // MARK: Writing

  /// Returns when the session would survive a power cut. Sessions are written in the order of the calls, as long as
  /// those come from one actor. Throws `Failure` 73.
  func save(_ session: Session, isolation: isolated (any Actor)? = #isolation) async throws {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try write(session) }) }
    }
  }

  private static func encoded(_ session: Session) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    return try encoder.encode(StoredSession(session))
  }

  private func write(_ session: Session) throws {
    let bytes = try Self.encoded(session)
    guard bytes.count <= Self.mostBytes else {
      throw Failure.store("write the token store", path, cause: "it would be larger than \(Self.mostText)")
    }
    try makeFolder()
    do throws(FileError) {
      try file.replace(with: Array(bytes))
    } catch {
      throw broken(error.step == "replace" ? "replace the token store" : error.step, error.path, error.error)
    }
  }

  private func makeFolder() throws(Failure) {
    try RosterFiles.makeFolder(of: path, mode: 0o700)
    guard access(folder, W_OK | X_OK) == 0 else { throw broken("write the token store's folder", folder) }
  }

  private func broken(_ step: String, _ subject: String, _ error: SystemError = .last) -> Failure {
    .store(
      step, subject, cause: error.text,
      hint: Failure.hint(
        for: error.code, writing: path, else: "see that rosterd may write \(folder) and has space"))
  }
}
