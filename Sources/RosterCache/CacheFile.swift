internal import FoundationEssentials
import Glibc
internal import RosterFiles
internal import RosterModel

/// The cache as a file: whose it is, its mode, and its way out when it is damaged.
package enum CacheFile {
  /// Whose the file in the cache's place is.
  package enum Standing: Sendable, Equatable {
    /// There is none yet, or an empty one.
    case absent
    /// Rosterd made it.
    case ours
    /// Rosterd made it, and it is no SQLite file any more.
    case damaged
  }

  /// A lock file beside it proves that an unreadable cache was rosterd's. To be asked before this rosterd makes its
  /// own.
  package static func hasLock(_ path: String) -> Bool { fileStatus(path + ".lock") != nil }

  /// Tells whose file it is and changes nothing, not even times or modes. Throws a `Failure` (73) for any file that is
  /// not rosterd's, or of a newer version.
  /// - Parameters:
  ///   - hadLock: What `hasLock` said; nil: as it is now.
  package static func inspect(_ path: String, hadLock: Bool? = nil) throws -> Standing {
    let hadLock = hadLock ?? hasLock(path)
    guard let found = fileStatus(path) else {
      if errno == EACCES { throw refusal(path, reason(), "let this user search the folders above it") }
      return .absent
    }
    guard found.st_mode & S_IFMT == S_IFREG else {
      throw refusal(path, "it is not a file", "name another cache.path").with(.foreignFile)
    }
    if found.st_size == 0 { return .absent }
    let header = try header(of: path)
    // One that was cut off says nothing for certain.
    if header.count < headerLength { return try orphan(path, hadLock) }
    if let id = number(header, at: applicationIDOffset), [Schema.applicationID, unfinishedID].contains(id) {
      guard header.starts(with: magic) else { return .damaged }
      let version = number(header, at: userVersionOffset) ?? 0
      if version > UInt32(Schema.version) { throw newer(path, Int(version)) }
      return .ours
    }
    if header.starts(with: magic) {
      throw refusal(path, "it is the SQLite file of another program", "name another cache.path").with(.foreignFile)
    }
    return try orphan(path, hadLock)
  }

  /// A file that does not say whose it is.
  private static func orphan(_ path: String, _ hadLock: Bool) throws -> Standing {
    guard hadLock else {
      throw refusal(path, "rosterd did not make this file", "move it away, or name another cache.path").with(
        .foreignFile)
    }
    return .damaged
  }

  /// The file itself where the path is a link: SQLite follows it, and keeps `-wal` and `-shm` beside what it leads to.
  package static func resolve(_ path: String) throws -> String {
    var found = stat()
    guard lstat(path, &found) == 0, found.st_mode & S_IFMT == S_IFLNK else { return path }
    guard let real = realpath(path, nil) else {
      throw refusal(path, "it is a link that leads nowhere", "name the file itself as cache.path, or remove the link")
    }
    defer { free(real) }
    return String(cString: real)
  }

  /// Readers in rosterd's group need no more than to read.
  static let mode: mode_t = 0o640
  /// Of all that only rosterd reads.
  static let privateMode: mode_t = 0o600
  /// The parts of a database in WAL mode (sqlite.org/walformat.html).
  static let parts = ["", "-wal", "-shm"]
  /// "ROSN": of a cache that is being made, until it is opened under its own name.
  static let unfinishedID: UInt32 = 0x524F_534E
  private static let logParts = ["-wal", "-shm", "-journal"]

  static func newer(_ path: String, _ version: Int) -> Failure {
    refusal(
      path, "a newer rosterd made it (version \(version))", "install that rosterd again, or name another cache.path"
    ).with(.foreignFile)
  }

  /// Makes an empty cache where there is none, or an empty file.
  static func create(_ path: String, _ schema: Schema) throws {
    try put(path, schema) {
      // A log that a lost cache left behind would be played into the new one.
      for part in logParts { try unlinkPart(path + part) }
    }
  }

  /// Puts an empty cache in the place of a damaged one, in one step: at no time there is no file of that name. Returns
  /// the damaged one's new name; its `-wal` and `-shm` go along.
  static func replace(_ path: String, _ schema: Schema, at date: Date) throws -> String {
    let aside = "\(path).damaged-\(date.rfc3339)"
    try put(path, schema) {
      for part in logParts where fileStatus(path + part) != nil {
        guard rename(path + part, aside + part) == 0 else { throw refusal(path, reason()) }
      }
      // A second name, so that the new file's can take the first one over; some file systems know no second names.
      guard fileStatus(path) == nil || link(path, aside) == 0 || rename(path, aside) == 0 else {
        throw refusal(path, reason())
      }
    }
    DamagedCopies.prune(path, parts: [""] + logParts)
    return aside
  }

  /// Makes an empty cache under another name first, so that a crash leaves a whole one or none.
  /// - Parameter clear: What is to go before the new file gets its name.
  private static func put(_ path: String, _ schema: Schema, clear: () throws -> Void) throws {
    let making = path + ".new"
    try removeUnfinished(making)
    do {
      try make(making, schema)
      try flush(making, path)
      try clear()
      guard rename(making, path) == 0 else { throw refusal(path, reason()) }
      // Closing has removed them, unless the disk would not.
      for part in logParts { unlink(making + part) }
    } catch {
      // Half a file would take the room that may be what is lacking.
      try? remove(making)
      throw error
    }
    try flush(parentFolder(of: path), path)
  }

  /// Removes what a kill left of a cache that was being made. Any other file of that name is left as it is.
  private static func removeUnfinished(_ making: String) throws {
    if let found = fileStatus(making), found.st_size > 0 {
      guard try number(header(of: making), at: applicationIDOffset) == unfinishedID || isBlank(making) else {
        throw refusal(making, "rosterd did not make this file, and needs its name", "move it away").with(.foreignFile)
      }
    }
    try remove(making)
  }

  /// What a power cut leaves of a first page that the disk has made room for: nothing of anybody.
  private static func isBlank(_ path: String) -> Bool {
    (try? contents(of: path, limit: Schema.pageBytes))?.allSatisfy { $0 == 0 } ?? false
  }

  private static func make(_ path: String, _ schema: Schema) throws {
    try touch(path, mode)
    let database = try Database(path: path, access: .writer)
    defer { database.close() }
    try database.execute("PRAGMA page_size = \(Schema.pageBytes)")
    // One flush at the end does: nobody knows its name yet. And one here, so that its header says whose it is, whatever
    // a power cut leaves of the rest.
    try database.execute("PRAGMA synchronous = OFF; PRAGMA application_id = \(unfinishedID)")
    try flush(path, path)
    try database.execute("PRAGMA journal_mode = WAL")
    try schema.migrate(database)
    _ = try database.checkpoint(.truncate)
  }

  /// The database first: SQLite gives new parts the mode of the database, left-over ones keep theirs.
  static func setModes(_ path: String) throws {
    for part in parts where fileStatus(path + part).map({ $0.st_mode & 0o7777 != mode }) == true {
      guard chmod(path + part, mode) == 0 else {
        throw refusal(path + part, "its mode cannot be set: \(reason())", "let rosterd's user own it")
      }
    }
  }

  static func remove(_ path: String) throws {
    for part in [""] + logParts { try unlinkPart(path + part) }
  }

  private static func unlinkPart(_ part: String) throws {
    guard unlink(part) == 0 || errno == ENOENT else { throw refusal(part, reason()) }
  }

  /// Makes an empty file with this mode, whatever the umask.
  static func touch(_ path: String, _ mode: mode_t) throws {
    let file = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode)
    guard file >= 0 else { throw refusal(path, reason()) }
    defer { close(file) }
    guard fchmod(file, mode) == 0 else { throw refusal(path, reason()) }
    giveToFolderOwner(file, at: path)
  }

  /// A name is only as durable as its folder.
  private static func flush(_ part: String, _ path: String) throws {
    let handle = Glibc.open(part, O_RDONLY | O_CLOEXEC)
    guard handle >= 0 else { throw refusal(path, reason()) }
    defer { close(handle) }
    guard fsync(handle) == 0 else { throw refusal(path, reason()) }
  }

  // sqlite.org/fileformat2.html#the_database_header
  private static let headerLength = 100
  private static let magic = Array("SQLite format 3\0".utf8)
  private static let userVersionOffset = 60
  private static let applicationIDOffset = 68

  private static func header(of path: String) throws -> [UInt8] {
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw refusal(path, reason()) }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: headerLength)
    let count = read(file, &bytes, headerLength)
    // A disk that fails for a moment is no damaged file.
    guard count >= 0 else { throw refusal(path, reason()) }
    return Array(bytes.prefix(count))
  }

  private static func number(_ header: [UInt8], at offset: Int) -> UInt32? {
    guard header.count >= offset + 4 else { return nil }
    return header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func reason() -> String { SystemError.last.text }

  private static func refusal(_ path: String, _ cause: String, _ hint: String? = nil) -> Failure {
    let code = errno
    let usual = Failure.hint(
      for: code, writing: path, else: "see that the folder exists and rosterd's user may write to it")
    return Failure(.cannotWrite, step: "open the cache", subject: path, cause: cause, hint: hint ?? usual)
      .with(Trouble.Kind(errno: hint == nil ? code : 0))
  }
}
