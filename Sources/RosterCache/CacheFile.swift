import CSQLite
internal import FoundationEssentials
import Glibc
internal import Logging
internal import RosterCore

/// The cache as a file: its owner, its mode, and its replacement when it is damaged.
package enum CacheFile {
  /// The program that made the file at the cache's path.
  package enum State: Sendable, Equatable {
    /// The file is missing or empty.
    case absent
    /// Rosterd made it.
    case ours
    /// An earlier version of rosterd made it, with that version of the schema.
    case older(version: Int)
    /// Rosterd made it, and it is not a valid SQLite file any more.
    case damaged
  }

  /// True if a lock file exists, which proves that an unreadable cache was made by rosterd. Call this before this
  /// process makes its own lock file.
  package static func hasLock(_ path: String) -> Bool { fileStatus(path + ".lock") != nil }

  /// Finds out which program made the file, and changes nothing, not even times or modes. Throws a `Failure` (73) for a
  /// file that rosterd did not make, or that a newer version made.
  /// - Parameters:
  ///   - hadLock: An earlier result of `hasLock`; nil to look now.
  package static func inspect(_ path: String, hadLock: Bool? = nil) throws -> State {
    let hadLock = hadLock ?? hasLock(path)
    guard let found = fileStatus(path) else {
      if errno == EACCES { throw refusal(path, cause: reason(), hint: "let this user search the folders above it") }
      return .absent
    }
    guard found.st_mode & S_IFMT == S_IFREG else {
      throw refusal(path, cause: "it is not a file", hint: "name another cache.path").with(.foreignFile)
    }
    if found.st_size == 0 { return .absent }
    let header = try header(of: path)
    // A truncated header does not prove which program made the file.
    if header.count < headerLength { return try orphan(path, hadLock: hadLock) }
    if let id = number(header, at: applicationIDOffset), [Schema.applicationID, unfinishedID].contains(id) {
      guard header.starts(with: magic) else { return .damaged }
      let version = number(header, at: userVersionOffset) ?? 0
      if version > UInt32(Schema.version) { throw newer(path, version: Int(version)) }
      return version < UInt32(Schema.version) ? .older(version: Int(version)) : .ours
    }
    if header.starts(with: magic) {
      throw refusal(path, cause: "it is the SQLite file of another program", hint: "name another cache.path").with(
        .foreignFile)
    }
    return try orphan(path, hadLock: hadLock)
  }

  /// Decides about a file whose header does not show which program made it.
  private static func orphan(_ path: String, hadLock: Bool) throws -> State {
    guard hadLock else {
      throw refusal(path, cause: "rosterd did not make this file", hint: "move it away, or name another cache.path")
        .with(
          .foreignFile)
    }
    return .damaged
  }

  /// Resolves the path if it is a link: SQLite follows it, and keeps `-wal` and `-shm` beside the file that it leads
  /// to.
  package static func resolve(_ path: String) throws -> String {
    var found = stat()
    guard lstat(path, &found) == 0, found.st_mode & S_IFMT == S_IFLNK else { return path }
    guard let real = realpath(path, nil) else {
      throw refusal(
        path, cause: "it is a link that leads nowhere", hint: "name the file itself as cache.path, or remove the link")
    }
    defer { free(real) }
    return String(cString: real)
  }

  /// Readers in rosterd's group only need to read.
  static let mode: mode_t = 0o640
  /// Mode of files that only rosterd reads.
  static let privateMode: mode_t = 0o600
  /// The parts of a database in WAL mode (sqlite.org/walformat.html).
  static let parts = ["", "-wal", "-shm"]
  /// "ROSN": the id of an unfinished cache, until it is opened under its own name.
  static let unfinishedID: UInt32 = 0x524F_534E
  private static let logParts = ["-wal", "-shm", "-journal"]

  static func newer(_ path: String, version: Int) -> Failure {
    refusal(
      path, cause: "a newer rosterd made it (version \(version))",
      hint: "install that rosterd again, or name another cache.path"
    ).with(.foreignFile)
  }

  /// Creates an empty cache if the file is missing or empty.
  static func create(_ path: String, schema: Schema) throws {
    try put(path, schema: schema) {
      // A log that a lost cache left would be replayed into the new cache.
      for part in logParts { try unlinkPart(path + part) }
    }
  }

  /// Replaces a damaged cache with an empty one in a single step: a file of that name exists at all times. Returns the
  /// damaged one's new name; its `-wal` and `-shm` are moved too.
  static func replace(_ path: String, schema: Schema, at date: Date) throws -> String {
    let aside = MovedCaches.damaged(path, at: date)
    try put(path, schema: schema) { try move(path, to: aside) }
    MovedCaches.prune(path, parts: [""] + logParts)
    return aside
  }

  /// Gives a cache the names of another one, whose files get the name `aside`. Each file exists at all times, because a
  /// reader that may not write cannot create them. No process has the caches open for writing, and their logs are
  /// empty, so that each log fits both caches meanwhile.
  static func replace(_ path: String, by successor: String, aside: String) throws {
    if fileStatus(path) != nil { try remove(aside) }
    // Only a damaged cache has a log that is not empty.
    let isLogKept = fileStatus(path + "-wal").map { $0.st_size > 0 } == true
    // After a power failure a log could have the content that it had before it was emptied.
    for log in [path, successor].map({ $0 + "-wal" }) where fileStatus(log) != nil { try flush(log, path: path) }
    for part in parts.reversed() {
      if !part.isEmpty, fileStatus(successor + part) == nil { try touch(successor + part, mode: mode) }
      let isDropped = fileStatus(path + part) == nil || !part.isEmpty && !isLogKept
      // A second name, which the rename then replaces. Some file systems do not support hard links.
      guard isDropped || link(path + part, aside + part) == 0 || rename(path + part, aside + part) == 0,
        rename(successor + part, path + part) == 0
      else {
        throw refusal(path, cause: reason())
      }
    }
    try flush(parentFolder(of: path), path: path)
  }

  private static func move(_ path: String, to aside: String) throws {
    for part in logParts where fileStatus(path + part) != nil {
      guard rename(path + part, aside + part) == 0 else { throw refusal(path, cause: reason()) }
    }
    // A second name, which the new file's rename can then replace. Some file systems do not support hard links.
    guard fileStatus(path) == nil || link(path, aside) == 0 || rename(path, aside) == 0 else {
      throw refusal(path, cause: reason())
    }
  }

  private static func take(_ path: String, by making: String) throws {
    guard rename(making, path) == 0 else { throw refusal(path, cause: reason()) }
    for part in logParts { unlink(making + part) }
    try flush(parentFolder(of: path), path: path)
  }

  /// Creates an empty cache under another name first, so that a crash leaves a whole cache or no cache.
  /// - Parameter clear: Removes or moves files before the new file gets its name.
  private static func put(_ path: String, schema: Schema, clear: () throws -> Void) throws {
    let making = path + ".new"
    try removeUnfinished(making)
    do {
      try make(making, schema: schema)
      try flush(making, path: path)
      try clear()
    } catch {
      // An unfinished file would occupy the room that may be lacking.
      try? remove(making)
      throw error
    }
    try take(path, by: making)
  }

  /// Removes an unfinished cache that a killed process left. Any other file of that name is unchanged.
  private static func removeUnfinished(_ making: String) throws {
    if let found = fileStatus(making), found.st_size > 0 {
      guard try number(header(of: making), at: applicationIDOffset) == unfinishedID || isBlank(making) else {
        throw refusal(making, cause: "rosterd did not make this file, and needs its name", hint: "move it away").with(
          .foreignFile)
      }
    }
    try remove(making)
  }

  /// True if the first page has only zeros, which is what a power failure leaves of an allocated page.
  private static func isBlank(_ path: String) -> Bool {
    (try? contents(of: path, limit: Schema.pageBytes))?.allSatisfy { $0 == 0 } ?? false
  }

  private static func make(_ path: String, schema: Schema) throws {
    try touch(path, mode: mode)
    let database = try Database(path: path, access: .writer)
    defer { database.close() }
    try database.execute("PRAGMA page_size = \(Schema.pageBytes)")
    // One flush at the end is enough, because no other program knows the name yet. A flush here ensures that the header
    // shows the owner after a power failure.
    try database.execute("PRAGMA synchronous = OFF; PRAGMA application_id = \(unfinishedID)")
    try flush(path, path: path)
    try database.execute("PRAGMA journal_mode = WAL")
    try schema.create(database)
    _ = try database.checkpoint(.truncate)
  }

  /// The database comes first: SQLite gives new parts the mode of the database. Existing parts keep their own mode.
  static func setModes(_ path: String) throws {
    for part in parts where fileStatus(path + part).map({ $0.st_mode & 0o7777 != mode }) == true {
      guard chmod(path + part, mode) == 0 else {
        throw refusal(path + part, cause: "its mode cannot be set: \(reason())", hint: "let rosterd's user own it")
      }
    }
  }

  static func remove(_ path: String) throws {
    for part in [""] + logParts { try unlinkPart(path + part) }
  }

  private static func unlinkPart(_ part: String) throws {
    guard unlink(part) == 0 || errno == ENOENT else { throw refusal(part, cause: reason()) }
  }

  /// Creates an empty file with this mode, whatever the umask is.
  static func touch(_ path: String, mode: mode_t) throws {
    let file = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode)
    guard file >= 0 else { throw refusal(path, cause: reason()) }
    defer { close(file) }
    guard fchmod(file, mode) == 0 else { throw refusal(path, cause: reason()) }
    giveToFolderOwner(file, at: path)
  }

  /// A new name is durable only after its folder is flushed.
  private static func flush(_ part: String, path: String) throws {
    let handle = Glibc.open(part, O_RDONLY | O_CLOEXEC)
    guard handle >= 0 else { throw refusal(path, cause: reason()) }
    defer { close(handle) }
    guard fsync(handle) == 0 else { throw refusal(path, cause: reason()) }
  }

  // sqlite.org/fileformat2.html#the_database_header
  private static let headerLength = 100
  private static let magic = Array("SQLite format 3\0".utf8)
  private static let userVersionOffset = 60
  private static let applicationIDOffset = 68

  private static func header(of path: String) throws -> [UInt8] {
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw refusal(path, cause: reason()) }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: headerLength)
    let count = read(file, &bytes, headerLength)
    // A disk that fails for a moment does not prove that the file is damaged.
    guard count >= 0 else { throw refusal(path, cause: reason()) }
    return Array(bytes.prefix(count))
  }

  /// The application id in a file's header; nil if the file is shorter.
  static func applicationID(of path: String) throws -> UInt32? { number(try header(of: path), at: applicationIDOffset) }

  private static func number(_ header: [UInt8], at offset: Int) -> UInt32? {
    guard header.count >= offset + 4 else { return nil }
    return header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func reason() -> String { SystemError.last.text }

  private static func refusal(_ path: String, cause: String, hint: String? = nil) -> Failure {
    let code = errno
    let usual = Failure.hint(
      for: code, writing: path, else: "see that the folder exists and rosterd's user may write to it")
    return Failure(.cannotWrite, step: "open the cache", subject: path, cause: cause, hint: hint ?? usual)
      .with(Diagnosis.Kind(errno: hint == nil ? code : 0))
  }
}

/// Identifies a file independently of its name. An inode number alone is reused for the next file.
struct FileIdentity: Equatable {
  private let inode: Inode
  /// Nanoseconds since 1970; 0 where the file system does not keep it.
  private let born: Int64

  /// nil if the file does not exist.
  init?(_ path: String) {
    guard let inode = Inode(path) else { return nil }
    self.inode = inode
    born = roster_birth(path)
  }

  /// Text that can be compared with an earlier one. It omits the device, whose number a mount may change.
  var text: String { "\(inode.number) \(born)" }

  /// The files that a writer has open.
  struct Parts: Equatable {
    var database: FileIdentity?
    var log: FileIdentity?
    var index: FileIdentity?
    var pulled: FileIdentity?

    init() {}

    /// The files that readers open.
    init(_ path: String) {
      database = FileIdentity(path)
      log = FileIdentity(path + "-wal")
      index = FileIdentity(path + "-shm")
    }

    init(_ path: String, pulled: String) {
      self.init(path)
      self.pulled = FileIdentity(pulled)
    }

    /// True if the database and both files of its log exist, so that a reader can open it.
    var isWhole: Bool { database != nil && log != nil && index != nil }
  }
}

/// `<path>.published`: replaced after each COMMIT that publishes, so that a systemd `.path` unit can start a follow-up
/// service.
struct PublishedFile {
  private let file: WholeFile
  /// True if the last attempt failed and its failure was logged.
  private var isFailing = false

  init(_ cache: String) { file = WholeFile(cache + ".published", mode: CacheFile.mode) }

  /// Writes the snapshot that readers see now, unless the file already has it. A failure does not fail the sync: the
  /// reason is logged once.
  mutating func tell(_ database: Database, logger: Logger) {
    do {
      let now = try database.first("SELECT snapshot, (SELECT max(id) FROM main.changes) FROM main.cache_info") {
        (snapshot: $0.optionalInteger(0), change: $0.optionalInteger(1) ?? 0)
      }
      guard let now, let snapshot = now.snapshot else { return }
      try replace(with: Array("\(snapshot) \(now.change)\n".utf8))
      isFailing = false
    } catch {
      if !isFailing { logger.warning("cannot announce the snapshot in \(file.path): \(error)") }
      isFailing = true
    }
  }

  private func replace(with bytes: [UInt8]) throws {
    let found = try? contents(of: file.path, limit: Self.longest)
    if found == bytes { return }
    guard found.map(Self.isOurs) ?? (fileStatus(file.path) == nil) else { throw Foreign() }
    // After a power failure, the next start writes the file again.
    try file.replace(with: bytes, durably: false)
  }

  /// Enough bytes for two numbers of 64 bits.
  private static let longest = 64

  /// True if rosterd wrote the file, or if it is an empty file that was created for a unit to wait for.
  private static func isOurs(_ bytes: [UInt8]) -> Bool {
    let words = bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    return bytes.isEmpty
      || words.count == 2 && bytes.last == UInt8(ascii: "\n")
        && words.joined().dropLast().allSatisfy(\.isDigit)
  }

  private struct Foreign: Error, CustomStringConvertible {
    var description: String { "rosterd did not make this file" }
  }
}
