internal import FoundationEssentials
package import RosterModel

/// Reads a cache without a daemon, without writing, from any user who may read the file. Throws a `Failure` (73).
package struct CacheReader {
  package static let pageSize = 20

  /// One page of a list or a search.
  package struct Listing: Sendable, Equatable {
    package var page: Int
    package var pages: Int
    /// Characters on all pages.
    package var total: Int
    package var characters: [CachedCharacter]
    /// Whether anything was published yet.
    package var hasSnapshot: Bool

    /// The contract's JSON of `rosterctl characters`.
    package var json: String {
      let list = characters.map(\.json).joined(separator: ",")
      return #"{"page":\#(page),"pages":\#(pages),"total":\#(total),"characters":[\#(list)]}"#
    }
  }

  /// One character and its history.
  package struct Detail: Sendable, Equatable {
    package var character: CachedCharacter
    /// Oldest first.
    package var changes: [Change]

    /// The contract's JSON of `rosterctl character ID`.
    package var json: String {
      let list = changes.map(\.json).joined(separator: ",")
      return #"{"character":\#(character.json),"changes":[\#(list)]}"#
    }
  }

  /// A row of `changes`.
  package struct Change: Sendable, Equatable {
    package enum Kind: String, Sendable { case added, changed, removed }

    package var id: Int64
    package var sync: Int64
    package var kind: Kind
    package var at: String
    /// JSON objects, as the table holds them.
    package var before: String?
    package var after: String?
    package var json: String
  }

  /// The records that could not be stored, as of the last sync that was published or found nothing new.
  package struct Rejects: Sendable, Equatable {
    /// One of them.
    package struct Record: Sendable, Equatable {
      /// In the order they came, from 1; 0: asked for by its id.
      package var page: Int
      /// In the page, from 0.
      package var position: Int
      /// A clause: why it could not be stored.
      package var reason: String
      /// As upstream sent it.
      package var document: String
      /// The row as a JSON object.
      package var json: String
    }

    /// By page and position.
    package var records: [Record]
    /// Whether anything was published yet.
    package var hasSnapshot: Bool

    /// `{"rejects":[…]}`, each with the columns of the table; `document` as a value where it is JSON.
    package var json: String { #"{"rejects":[\#(records.map(\.json).joined(separator: ","))]}"# }
  }

  private let path: String
  private let database: Database

  package init(path: String) throws {
    self.path = path
    switch try Self.inspect(path) {
    case .ours: break
    case .absent:
      throw Self.refusal(path, "there is no cache yet", "start rosterd, or name its cache with --cache")
    case .damaged:
      throw Self.refusal(path, "the file is damaged", "start rosterd, which moves it aside and pulls all anew")
    }
    do {
      database = try Database(path: path, access: .readOnly)
      database.wait(milliseconds: Self.lockTimeout)
      let version = try database.first("PRAGMA user_version") { $0.int(0) } ?? 0
      if version > Schema.version { throw Self.newer(path, version) }
      if version < Schema.version {
        throw Self.refusal(
          path, "an older rosterd made it (version \(version))", "start rosterd, which brings it up to date")
      }
      try Self.findTables(database)
    } catch let error as SQLiteError {
      throw Self.failure(error, path)
    }
  }

  /// All characters by id, or those in which each word of `search` occurs, as a word or its beginning. Pages count from
  /// 1.
  package func characters(search: String = "", page: Int = 1) throws -> Listing {
    try read {
      let query = SearchWords.query(search)
      let total = try count(query)
      let pages = (total + Self.pageSize - 1) / Self.pageSize
      let ids =
        query == nil
        ? "SELECT id FROM characters ORDER BY id LIMIT ?2 OFFSET ?3"
        : "SELECT rowid FROM characters_fts WHERE characters_fts MATCH ?1 ORDER BY rowid LIMIT ?2 OFFSET ?3"
      let found = try database.rows(
        "\(CachedCharacter.select) WHERE c.id IN (\(ids)) ORDER BY c.id", Value(query),
        Value(Self.pageSize), Value((max(1, min(page, pages + 1)) - 1) * Self.pageSize),
        read: CachedCharacter.init(row:))
      return Listing(
        page: page, pages: pages, total: total, characters: found, hasSnapshot: try snapshot() != nil)
    }
  }

  /// nil: there is none.
  package func character(id: Int64) throws -> Detail? {
    try read {
      let found = try database.first(
        "\(CachedCharacter.select) WHERE c.id = ?", .integer(id), read: CachedCharacter.init(row:))
      guard let found else { return nil }
      return Detail(character: found, changes: try changes(of: id))
    }
  }

  /// When and by which sync a character went; nil: it is there, or never was as far as `history` goes back.
  package func removal(of id: Int64) throws -> Change? {
    try read { try changes(of: id).last.flatMap { $0.kind == .removed ? $0 : nil } }
  }

  /// Whether anything was published yet.
  package func hasSnapshot() throws -> Bool { try read { try snapshot() != nil } }

  /// The records that could not be stored.
  package func rejects() throws -> Rejects {
    try read {
      let records = try database.rows(
        """
        SELECT page, position, reason, document, json_object('sync_id', sync_id, 'page', page, 'position', position,
          'reason', reason, 'document', iif(json_valid(document), json(document), document))
        FROM rejects ORDER BY page, position
        """
      ) {
        Rejects.Record(
          page: $0.int(0), position: $0.int(1), reason: $0.text(2), document: $0.text(3), json: $0.text(4))
      }
      return Rejects(records: records, hasSnapshot: try snapshot() != nil)
    }
  }

  /// The latest syncs, newest first.
  package func recent(limit: Int) throws -> [SyncReport] {
    try read {
      try database.rows(
        "\(SyncRow.select(database)) ORDER BY id DESC LIMIT ?", Value(limit), read: SyncRow.read)
    }
  }

  /// A checkpoint or a recovery by the writer may lock the file for a moment.
  private static let lockTimeout: Int32 = 5_000

  private func snapshot() throws -> Int64? {
    try database.first("SELECT snapshot FROM cache_info") { $0.optionalInteger(0) } ?? nil
  }

  private func count(_ query: String?) throws -> Int {
    let sql =
      query == nil
      ? "SELECT count(*) FROM characters WHERE ?1 IS NULL"
      : "SELECT count(*) FROM characters_fts WHERE characters_fts MATCH ?1"
    return try database.first(sql, Value(query)) { $0.int(0) } ?? 0
  }

  private func changes(of id: Int64) throws -> [Change] {
    try database.rows(
      """
      SELECT id, sync_id, kind, at, before, after, json_object('id', id, 'sync_id', sync_id,
        'character_id', character_id, 'kind', kind, 'at', at, 'before', json(before), 'after', json(after))
      FROM changes WHERE character_id = ? ORDER BY id
      """, .integer(id)
    ) {
      Change(
        id: $0.integer(0), sync: $0.integer(1), kind: Change.Kind(rawValue: $0.text(2)) ?? .changed,
        at: $0.text(3), before: $0.optionalText(4), after: $0.optionalText(5), json: $0.text(6))
    }
  }

  /// One transaction, so that all of an answer is of one snapshot.
  private func read<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try database.transaction("BEGIN", body)
    } catch let error as SQLiteError {
      throw Self.failure(error, path)
    }
  }

  private static func findTables(_ database: Database) throws {
    do {
      for sql in [
        CachedCharacter.select, "SELECT rowid FROM characters_fts", "SELECT snapshot FROM cache_info",
        "SELECT after FROM changes", "SELECT reason FROM rejects", "\(SyncRow.select(database))",
      ] {
        _ = try database.statement(sql)
      }
    } catch let error as SQLiteError where error.kind == .other {
      throw SQLiteError.damaged(error.message)
    }
  }

  // MARK: What a reader is told

  private static let step = "read the cache"

  /// What is wrong with the file is the same for the daemon; what to do about it is not.
  private static func inspect(_ path: String) throws -> CacheFile.Standing {
    do { return try CacheFile.inspect(path) } catch var failure as Failure {
      failure.step = step
      failure.hint = "see whether --cache names a cache of this version of rosterd, and whether this user may read it"
      throw failure
    }
  }

  private static func failure(_ error: SQLiteError, _ path: String) -> Failure {
    switch error.kind {
    case .cannotOpen:
      refusal(
        path, "it cannot be opened (\(error.message))",
        "start rosterd, which makes the -wal and -shm beside it, and see whether this user may read them")
    case .readOnly:
      // SQLITE_READONLY_CANTINIT, _RECOVERY: the -shm is missing or of no use, and only a writer makes it anew.
      refusal(path, "only one who may write can open it now (\(error.message))", "start rosterd, which puts it right")
    default: error.failure(step, path)
    }
  }

  private static func newer(_ path: String, _ version: Int) -> Failure {
    refusal(path, "a newer rosterd made it (version \(version))", "use the rosterctl of that rosterd")
  }

  private static func refusal(_ path: String, _ cause: String, _ hint: String) -> Failure {
    Failure(.cannotWrite, step: step, subject: path, cause: cause, hint: hint)
  }
}

/// A row of `characters` with its episodes.
package struct CachedCharacter: Sendable, Equatable {
  package var character: RosterModel.Character
  package var firstSync: Int64
  package var changedSync: Int64
  /// The columns, `extra` as an object or null, and `episodes`.
  package var json: String

  static let select = """
    SELECT c.id, \(Columns.list(Columns.all, of: "c")), c.first_sync, c.changed_sync,
      \(Columns.json("c", episodes: Columns.episodes(of: "c.id"), more: ["first_sync", "changed_sync"])),
      \(Columns.episodes(of: "c.id"))
    FROM characters c
    """

  init(row: Row) throws {
    character = RosterModel.Character(
      id: row.integer(0), name: row.text(1), status: row.text(2), species: row.text(3),
      type: row.text(4), gender: row.text(5), origin: .init(name: row.text(6), url: row.text(7)),
      location: .init(name: row.text(8), url: row.text(9)), image: row.text(10), url: row.text(11),
      created: row.text(12), extra: row.optionalText(13))
    character.episodes = try JSONDecoder().decode([String].self, from: Data(row.text(17).utf8))
    firstSync = row.integer(14)
    changedSync = row.integer(15)
    json = row.text(16)
  }
}
