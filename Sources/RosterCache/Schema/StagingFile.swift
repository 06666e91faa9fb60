import Glibc
internal import RosterFiles

/// The facts that rosterd 0.1 and 0.2 kept beside the cache. They show whether this file is the one that was written
/// last, and until when upstream wants no request.
struct StagingFile {
  var isCacheKnown = false
  /// Seconds since 1970.
  var heldUntil: Double?

  /// `roster.db` → `roster.staging.db`
  private static func path(beside path: String) -> String {
    (path.hasSuffix(".db") ? String(path.dropLast(3)) : path) + ".staging.db"
  }

  /// Reads the file of an earlier version before the cache is migrated; nil for a cache of this version. A file of
  /// another program with that name is ignored.
  static func read(
    _ path: String, version: Int, upstream: String, in database: Database
  ) throws -> StagingFile? {
    switch version {
    case 1: try readFirst(path, upstream: upstream, in: database)
    case 2: try readSecond(path, in: database)
    default: nil
    }
  }

  /// The lines at the beginning of the pages that 0.2 pulled.
  private static let magic = "rosterd: pulled pages, not yet published"

  private static func lines(_ path: String) -> [Substring]? {
    let file = open(path + ".pulled", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = Glibc.read(file, &bytes, bytes.count)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.first.map(String.init) == magic ? lines : nil
  }

  private static func readSecond(_ path: String, in database: Database) throws -> StagingFile {
    guard let lines = lines(path), lines.count > 4, let epoch = Int64(lines[4]) else { return StagingFile() }
    let own = try database.first(
      "SELECT feed, (SELECT coalesce(max(id), 0) FROM main.syncs) FROM main.cache_identity"
    ) { (feed: $0.text(0), last: $0.integer(1)) }
    let isOwn = own.map { $0.feed == lines[2] && epoch <= $0.last } == true
    return StagingFile(isCacheKnown: isOwn && FileIdentity(path)?.text == String(lines[3]))
  }

  private static func readFirst(_ path: String, upstream: String, in database: Database) throws -> StagingFile {
    guard isOurs(Self.path(beside: path)), let file = try? Database(path: Self.path(beside: path), access: .writer)
    else {
      return StagingFile()
    }
    defer { file.close() }
    let own = try database.first(
      "SELECT i.feed, c.snapshot, c.published_at FROM main.cache_identity i, main.cache_info c"
    ) {
      (feed: $0.text(0), snapshot: $0.optionalInteger(1), at: $0.optionalText(2))
    }
    let found = try? file.first(
      """
      SELECT feed = ?1 AND file = ?2 AND (snapshot IS NULL OR snapshot < ?3 OR (snapshot = ?3 AND published_at IS ?4)),
        CASE WHEN upstream = ?5 THEN held_until END FROM main.info
      """, Value(own?.feed), Value(FileIdentity(path)?.text), Value(own?.snapshot ?? nil), Value(own?.at ?? nil),
      .text(upstream)
    ) { StagingFile(isCacheKnown: $0.int(0) != 0, heldUntil: $0.isNull(1) ? nil : $0.real(1)) }
    return found ?? StagingFile()
  }

  /// Removes the files. Their unpublished pages are pulled again.
  static func drop(_ path: String) {
    if lines(path) != nil { unlink(path + ".pulled") }
    if isOurs(Self.path(beside: path)) { try? CacheFile.remove(Self.path(beside: path)) }
  }

  /// True if the file has all tables of a staging file, which a cache of that name does not have.
  private static func isOurs(_ path: String) -> Bool {
    guard fileStatus(path) != nil, let file = try? Database(path: path, access: .readOnly) else { return false }
    defer { file.close() }
    let known = try? file.rows(
      "SELECT name FROM main.sqlite_schema WHERE name IN ('info', 'pages', 'records', 'rejected')"
    ) {
      $0.text(0)
    }
    return known?.count == 4
  }
}
