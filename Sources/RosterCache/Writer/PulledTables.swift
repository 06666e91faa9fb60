internal import FoundationEssentials
internal import RosterModel

/// The temporary tables of a pull: of the writer's connection, or of a reader's own.
enum PulledTables {
  /// pulled: what is in the file; without a number it is not, or not yet, part of this pull. same: published pages that
  /// are. came, gone: keys of pages that came, and of published pages that are not as they were. refused: keys of
  /// rejected records. passed: these, and keys of skipped ones, of pages that came. seen: where the file says that a
  /// page came again as it was, or has an answer, and when that was received. listed: the pages of a conclusion.
  static let create = """
    CREATE TEMP TABLE pulled(resource INTEGER NOT NULL, address TEXT NOT NULL, number INTEGER, place INTEGER NOT NULL,
      PRIMARY KEY (resource, address)) WITHOUT ROWID;
    CREATE TEMP TABLE same(page INTEGER PRIMARY KEY, resource INTEGER NOT NULL, number INTEGER NOT NULL, etag TEXT,
      last_modified TEXT);
    CREATE TEMP TABLE answers(place INTEGER PRIMARY KEY, resource INTEGER NOT NULL);
    CREATE TEMP TABLE missing(resource INTEGER NOT NULL, record_id INTEGER NOT NULL, key NOT NULL,
      absent INTEGER NOT NULL, answered INTEGER NOT NULL, PRIMARY KEY (resource, record_id)) WITHOUT ROWID;
    CREATE TEMP TABLE missed_pages(page INTEGER PRIMARY KEY, resource INTEGER NOT NULL);
    CREATE TEMP TABLE came(resource INTEGER NOT NULL, key NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (resource, key))
      WITHOUT ROWID;
    CREATE TEMP TABLE gone(resource INTEGER NOT NULL, key NOT NULL, PRIMARY KEY (resource, key)) WITHOUT ROWID;
    CREATE TEMP TABLE refused(resource INTEGER NOT NULL, key NOT NULL, PRIMARY KEY (resource, key)) WITHOUT ROWID;
    CREATE TEMP TABLE passed(resource INTEGER NOT NULL, key NOT NULL, PRIMARY KEY (resource, key)) WITHOUT ROWID;
    CREATE TEMP TABLE rejected(resource INTEGER NOT NULL, page INTEGER NOT NULL, position INTEGER NOT NULL,
      reason TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (resource, page, position)) WITHOUT ROWID;
    CREATE TEMP TABLE seen(resource INTEGER NOT NULL, address TEXT NOT NULL, place INTEGER NOT NULL, at REAL NOT NULL,
      etag TEXT, last_modified TEXT, PRIMARY KEY (resource, address)) WITHOUT ROWID;
    CREATE TEMP TABLE listed(place INTEGER PRIMARY KEY, number INTEGER NOT NULL);
    """

  /// Of all of them, and of a reader's own.
  static let names = [
    "pulled", "same", "answers", "missing", "missed_pages", "came", "gone", "refused", "passed", "rejected", "seen",
    "listed", "differences",
  ]

  /// A page of the file; one of that address was there before.
  static func insert(
    _ index: Int, _ address: String, _ number: Int?, _ place: Int64, _ database: Database
  ) throws {
    try database.statement("INSERT OR REPLACE INTO temp.pulled VALUES (?1, ?2, ?3, ?4)").run([
      Value(index), .text(address), Value(number.map(Int64.init)), .integer(place),
    ])
  }

  /// What a walk through the file has come to.
  static func take(_ facts: PageFacts, _ index: Int, _ number: Int?, _ place: Int64, _ database: Database) throws {
    switch facts.kind {
    case .page: try insert(index, facts.address, number, place, database)
    case .again, .answer: try see(facts, index, place, database)
    case .dropped:
      for table in ["pulled", "seen"] {
        try database.run("DELETE FROM temp.\(table) WHERE resource = ?", Value(index))
      }
    case .source, .conclusion, .lie: break
    }
  }

  static func see(_ facts: PageFacts, _ index: Int, _ place: Int64, _ database: Database) throws {
    try database.statement("INSERT OR REPLACE INTO temp.seen VALUES (?1, ?2, ?3, ?4, ?5, ?6)").run([
      Value(index), .text(facts.address), .integer(place), .real(facts.receivedAt.timeIntervalSince1970),
      Value(facts.validator.etag), Value(facts.validator.lastModified),
    ])
  }

  /// Notes that upstream still has the missing records of these keys. Returns how many that are.
  static func answer(_ index: Int, _ lists: [[UInt8]], isText: Bool, _ database: Database) throws -> Int {
    let before = database.totalChanges
    let mark = try database.statement("UPDATE temp.missing SET answered = 1 WHERE resource = ?1 AND key = ?2")
    for list in lists {
      try list.forEachKey(isText: isText) { key in
        mark.bind(1, Int64(index))
        mark.bind(2, key)
        try mark.run()
      }
    }
    return database.totalChanges - before
  }
}
