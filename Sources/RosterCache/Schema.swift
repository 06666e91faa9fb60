/// The cache's tables, as numbered steps. A step that was released is never edited: a change is a new step.
enum Schema {
  /// "ROST", at byte 68 of the file (sqlite.org/fileformat2.html#application_id).
  static let applicationID: UInt32 = 0x524F_5354
  static var version: Int { steps.count }

  /// Brings a cache of any older version to this one, in one transaction; an empty file is version 0.
  static func migrate(_ database: Database) throws {
    let found = try database.first("PRAGMA user_version") { $0.int(0) } ?? 0
    guard found < version else { return }
    try database.transaction {
      for step in steps[found...] { try database.execute(step) }
      try database.execute("PRAGMA user_version = \(version)")
    }
  }

  /// Throws what a cache without one of its tables is: damaged, by another's hand.
  static func look(_ database: Database) throws {
    let found = try database.rows("SELECT name FROM main.sqlite_schema") { $0.text(0) }
    for name in names where !found.contains(name) { throw SQLiteError.damaged("\(name) is missing") }
  }

  private static let names = [
    "characters", "character_episodes", "characters_fts", "characters_fts_data", "characters_fts_idx",
    "characters_fts_docsize", "characters_fts_config", "syncs", "syncs_by_outcome", "changes", "changes_by_character",
    "rejects", "cache_identity", "cache_info",
  ]

  private static let steps = [version1]

  private static let version1 = """
    CREATE TABLE characters(
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL, status TEXT NOT NULL, species TEXT NOT NULL, type TEXT NOT NULL, gender TEXT NOT NULL,
      origin_name TEXT NOT NULL, origin_url TEXT NOT NULL, location_name TEXT NOT NULL, location_url TEXT NOT NULL,
      image TEXT NOT NULL, url TEXT NOT NULL, created TEXT NOT NULL,
      extra TEXT,
      first_sync INTEGER NOT NULL, changed_sync INTEGER NOT NULL
    );
    CREATE TABLE character_episodes(
      character_id INTEGER NOT NULL, position INTEGER NOT NULL, url TEXT NOT NULL,
      PRIMARY KEY (character_id, position)
    ) WITHOUT ROWID;
    CREATE VIRTUAL TABLE characters_fts USING fts5(
      name, species, type, origin_name, location_name,
      content='characters', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
    );
    CREATE TABLE syncs(
      id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, finished_at TEXT, outcome TEXT NOT NULL,
      pages INTEGER NOT NULL, characters INTEGER NOT NULL,
      added INTEGER NOT NULL, changed INTEGER NOT NULL, removed INTEGER NOT NULL, rejected INTEGER NOT NULL,
      requests INTEGER NOT NULL, not_modified INTEGER NOT NULL, resumed INTEGER NOT NULL,
      retries INTEGER NOT NULL, refreshes INTEGER NOT NULL, bytes INTEGER NOT NULL,
      exit INTEGER, error TEXT
    );
    CREATE INDEX syncs_by_outcome ON syncs(outcome);
    CREATE TABLE changes(
      id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id INTEGER NOT NULL, character_id INTEGER NOT NULL,
      kind TEXT NOT NULL, at TEXT NOT NULL, before TEXT, after TEXT
    );
    CREATE INDEX changes_by_character ON changes(character_id);
    CREATE TABLE rejects(
      sync_id INTEGER NOT NULL, page INTEGER NOT NULL, position INTEGER NOT NULL,
      reason TEXT NOT NULL, document TEXT NOT NULL,
      PRIMARY KEY (page, position)
    ) WITHOUT ROWID;
    CREATE TABLE cache_identity(
      one INTEGER PRIMARY KEY CHECK (one = 1), feed TEXT NOT NULL, upstream TEXT
    );
    INSERT INTO cache_identity VALUES (1, lower(hex(randomblob(16))), NULL);
    CREATE VIEW cache_info AS
      SELECT 1 AS schema_version, i.upstream AS upstream, p.id AS snapshot, p.finished_at AS published_at,
        v.finished_at AS verified_at, coalesce(v.characters, 0) AS characters, coalesce(v.pages, 0) AS pages,
        -- The first snapshot writes no changes: whoever read before it must be told to read anew.
        i.feed || CASE WHEN p.id IS NULL THEN '-empty' ELSE '' END AS feed
      FROM cache_identity i
      LEFT JOIN syncs p ON p.id = (SELECT max(id) FROM syncs WHERE outcome = 'published')
      LEFT JOIN syncs v ON v.id = max(
        coalesce((SELECT max(id) FROM syncs WHERE outcome = 'published'), 0),
        coalesce((SELECT max(id) FROM syncs WHERE outcome = 'unchanged'), 0));
    """
}

/// The columns of `characters` that come from upstream, in the order of the contract.
enum Columns {
  static let texts = [
    "name", "status", "species", "type", "gender", "origin_name", "origin_url", "location_name",
    "location_url", "image", "url", "created",
  ]
  static let all = texts + ["extra"]
  static let indexed = ["name", "species", "type", "origin_name", "location_name"]

  /// `r.name, r.status, …`
  static func list(_ columns: [String], of table: String) -> String {
    columns.map { "\(table).\($0)" }.joined(separator: ", ")
  }

  /// `(c.name IS NOT r.name OR …)`
  static func differ(_ columns: [String], _ old: String, _ new: String) -> String {
    "(" + columns.map { "\(old).\($0) IS NOT \(new).\($0)" }.joined(separator: " OR ") + ")"
  }

  /// A published character's episodes as a JSON list. Its primary key hands them over in order.
  static func episodes(of id: String) -> String {
    """
    (SELECT json_group_array(e.url) FROM
      (SELECT url FROM character_episodes WHERE character_id = \(id) ORDER BY position) e)
    """
  }

  /// The JSON of one character, as in `changes`; `more`: further columns.
  /// SQLite refuses JSON nested deeper than it likes, which must not stop a sync: such an `extra` is left out here.
  static func json(_ table: String, episodes: String, more: [String] = []) -> String {
    func pairs(_ columns: [String]) -> String {
      columns.map { "'\($0)', \(table).\($0), " }.joined()
    }
    let extra = "CASE WHEN json_valid(\(table).extra) THEN json(\(table).extra) END"
    return """
      json_object(\(pairs(["id"] + texts))'extra', \(extra), \(pairs(more))'episodes', json(\(episodes)))
      """
  }
}
