import Dispatch
import FoundationEssentials
import Glibc
import RosterCore

/// The sessions on disk, one file for each identity. A reader, a crash or a full disk sees the old file or the new one,
/// whole.
struct TokenStore: Sendable {
  /// The file of the first identity: `token.json`. Each other identity has a file beside it.
  let path: String
  /// fsync blocks, and the cooperative pool must not.
  private let queue = DispatchQueue(label: "rosterd.token-store")

  private var folder: String { parentFolder(of: path) }

  var temporaryPath: String { Self.file(path).temporaryPath }

  /// The lock of `path` excludes other writers of all files.
  private static func file(_ path: String) -> WholeFile { WholeFile(path, mode: 0o600) }

  /// Far above what a few tokens take.
  private static let maxBytes = 1 << 20
  static let maxText = "1 MiB"
  /// Room for a later note about a session.
  private static let noteRoom = 4096

  /// True if the store can return the session, even with later notes.
  static func fits(_ session: Session) -> Bool {
    (try? encoded(session)).map { $0.count <= maxBytes - noteRoom } ?? false
  }

  // MARK: Reading

  /// The content of the store for one identity.
  struct Content {
    /// The session of the identity; nil before its first one.
    var session: Session?
    /// The session in `path` if it belongs to another identity.
    var other: Session?
  }

  /// Makes the folder and reads the store. Throws `Failure` 73 for a damaged, newer or inaccessible file, which remains
  /// unchanged.
  func load(for binding: Session.Binding) throws(Failure) -> Content {
    try makeFolder()
    return try content(for: binding)
  }

  /// Reads the store like `load`, and does not make the folder.
  func content(for binding: Session.Binding) throws(Failure) -> Content {
    let first = try session(at: path)
    if let first, first.binding == binding { return Content(session: first) }
    return Content(session: try session(at: ownPath(binding)), other: first)
  }

  /// The sessions of all identities whose files can be read. Throws if `path` cannot be read.
  func sessions() throws(Failure) -> [Session] {
    let first = try session(at: path)
    let (stem, suffix) = nameParts
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let others = names.filter { $0.hasPrefix("\(stem)-") && $0.hasSuffix(suffix) }.sorted().compactMap {
      try? session(at: "\(folder)/\($0)")
    }
    return [first].compactMap(\.self) + others
  }

  private func session(at path: String) throws(Failure) -> Session? {
    guard let bytes = try read(path) else { return nil }
    let decoder = JSONDecoder()
    guard let version = try? decoder.decode(StoredSession.Version.self, from: bytes) else {
      throw damaged(path, "it is not the JSON that rosterd writes")
    }
    guard version.version == StoredSession.currentVersion else {
      throw .store(
        "open the token store", path: path,
        cause: "it has version \(version.version), and this rosterd knows \(StoredSession.currentVersion)",
        hint: "run the rosterd that wrote it, or move it away to start from the credential files")
    }
    guard let session = (try? decoder.decode(StoredSession.self, from: bytes))?.session else {
      throw damaged(path, "a field is missing or wrong")
    }
    return session
  }

  // MARK: Files

  /// The file that has, or gets, the session of this identity. An unreadable file belongs to no identity.
  func path(of binding: Session.Binding) -> String {
    let own = ownPath(binding)
    let first = try? session(at: path)
    if first?.binding == binding || first == nil && fileStatus(own) == nil { return path }
    return own
  }

  /// The file beside `path`: `token-DIGEST.json`.
  private func ownPath(_ binding: Session.Binding) -> String {
    let (stem, suffix) = nameParts
    return "\(folder)/\(stem)-\(binding.digest)\(suffix)"
  }

  private var nameParts: (stem: String, suffix: String) {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
    return (String(name[..<dot]), String(name[dot...]))
  }

  private func damaged(_ path: String, _ what: String) -> Failure {
    .store(
      "open the token store", path: path, cause: "it is damaged: \(what)",
      hint: "move it away to start from the credential files")
  }

  private func read(_ path: String) throws(Failure) -> Data? {
    // Opening a FIFO without a writer would wait.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if file < 0, [ENOENT, ENOTDIR].contains(errno) { return nil }
    guard file >= 0 else { throw broken("open the token store", subject: path) }
    defer { close(file) }
    var about = stat()
    guard fstat(file, &about) == 0 else { throw broken("open the token store", subject: path) }
    guard about.st_mode & S_IFMT == S_IFREG else {
      throw .store(
        "open the token store", path: path, cause: "it is no regular file", hint: "name another one in auth.token_store"
      )
    }
    var bytes = Data()
    var chunk = [UInt8](repeating: 0, count: 16384)
    while bytes.count <= Self.maxBytes {
      let count = Glibc.read(file, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw broken("read the token store", subject: path) }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
    throw damaged(path, "it is larger than \(Self.maxText)")
  }

  // MARK: Writing

  /// Returns when the session would survive a power cut. Sessions are written in the order of the calls, as long as
  /// those come from one actor. Throws `Failure` 73.
  func save(_ session: Session, isolation: isolated (any Actor)? = #isolation) async throws {
    try await write(session, isTrial: false)
  }

  /// Throws what `save` would throw now. The store does not change.
  func expectWritable(for session: Session, isolation: isolated (any Actor)? = #isolation) async throws {
    try await write(session, isTrial: true)
  }

  private func write(
    _ session: Session, isTrial: Bool, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try writeNow(session, isTrial: isTrial) }) }
    }
  }

  private static func encoded(_ session: Session) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    return try encoder.encode(StoredSession(session))
  }

  private func writeNow(_ session: Session, isTrial: Bool) throws {
    let bytes = try Self.encoded(session)
    guard bytes.count <= Self.maxBytes else {
      throw Failure.store("write the token store", path: path, cause: "it would be larger than \(Self.maxText)")
    }
    try makeFolder()
    let file = Self.file(self.path(of: session.binding))
    do throws(FileError) {
      if isTrial { try file.expectReplaceable(with: Array(bytes)) } else { try file.replace(with: Array(bytes)) }
    } catch {
      throw broken(
        error.step == "replace" ? "replace the token store" : error.step, subject: error.path, error: error.error)
    }
  }

  private func makeFolder() throws(Failure) {
    try RosterCore.makeFolder(of: path, mode: 0o700)
    guard access(folder, W_OK | X_OK) == 0 else { throw broken("write the token store's folder", subject: folder) }
  }

  private func broken(_ step: String, subject: String, error: SystemError = .last) -> Failure {
    .store(
      step, path: subject, cause: error.text,
      hint: Failure.hint(
        for: error.code, writing: path, else: "see that rosterd may write \(folder) and has space"))
  }
}

extension TokenSettings {
  /// The life of what renews, as the store at `path` has it; nil if it is unknown or belongs to another server or flow.
  package func renewalLife(at path: String) -> Duration? {
    let sessions = (try? TokenStore(path: path).sessions()) ?? []
    let own = sessions.first { $0.binding.flow == flow.rawValue && $0.binding.tokenOrigin == tokenOrigin }
    guard flow.refreshes, let renewal = own?.renewal else { return nil }
    return .seconds(renewal.endsAt.timeIntervalSince(renewal.obtainedAt).rounded())
  }
}
