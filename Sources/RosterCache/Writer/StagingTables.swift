internal import FoundationEssentials
internal import RosterCore

/// The tables of `next`. `resource` is the position of a definition, and `list` the number of a list of a child; 0 for
/// the only list of a resource.
///
/// - pull: whose pages these are (`Staging.Owner`). sync: the last sync that has stored pages. concluded: the sync
///   whose pull is whole; NULL if no pull is, or if a page was added since.
/// - decision: the removals of a concluded pull, and which of its resources were pulled incrementally.
/// - list: lists of children with pages. path: JSON list of the keys of the ancestors. The columns from asked on
///   describe a list that was pulled to its end, and are NULL otherwise. asked: the question then. ended_at: the
///   time of its oldest answer. answered, count, mark and token: as in `temp.lists`.
/// - page: pages, and answers of `by_key`, which have no address. number: the place in this pull; NULL if the page is
///   not part of it, or not yet. position: the place in the pull that received it. sync: that pull. is_guarded:
///   upstream must confirm the page first. question: digest of the question by which it was read; NULL without
///   one.
/// - body: the bodies of pages. They are apart, because a change of a row writes all of it again.
/// - same: the rows of `temp.same` for lists that were pulled to their end, and for a concluded pull.
/// - seen: pages that were confirmed or sent again, with the validator of that answer.
/// - lie: resources whose validators lied. pause: times without requests.
enum StagingTables {
  static let create = [
    """
    CREATE TABLE next.pull(one INTEGER PRIMARY KEY CHECK (one = 1), feed TEXT NOT NULL, cache TEXT NOT NULL,
      epoch INTEGER NOT NULL, source TEXT NOT NULL, sync INTEGER NOT NULL, concluded INTEGER,
      is_fresh INTEGER NOT NULL)
    """,
    """
    CREATE TABLE next.decision(resource INTEGER PRIMARY KEY, removal INTEGER NOT NULL,
      is_incremental INTEGER NOT NULL)
    """,
    """
    CREATE TABLE next.list(id INTEGER PRIMARY KEY, resource INTEGER NOT NULL, path TEXT NOT NULL, asked TEXT,
      ended_at REAL, question INTEGER, answered REAL, count INTEGER, mark TEXT, token TEXT,
      is_guarded INTEGER NOT NULL DEFAULT 0, UNIQUE (resource, path))
    """,
    """
    CREATE TABLE next.page(place INTEGER PRIMARY KEY, resource INTEGER NOT NULL, list INTEGER NOT NULL, address TEXT,
      number INTEGER, position INTEGER NOT NULL, sync INTEGER NOT NULL, is_guarded INTEGER NOT NULL DEFAULT 0,
      \(StagedPage.columns), UNIQUE (resource, list, address))
    """,
    "CREATE INDEX next.page_of_answer ON page(resource, list) WHERE address IS NULL",
    "CREATE TABLE next.body(place INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE next.same(\(same)) WITHOUT ROWID",
    """
    CREATE TABLE next.seen(resource INTEGER NOT NULL, list INTEGER NOT NULL, address TEXT NOT NULL, at REAL NOT NULL,
      etag TEXT, last_modified TEXT, answered REAL, question INTEGER, is_guarded INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (resource, list, address)) WITHOUT ROWID
    """,
    "CREATE TABLE next.lie(resource TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE next.pause(begin REAL NOT NULL, \"end\" REAL NOT NULL, question TEXT)",
  ]

  /// The columns of `same`.
  static let same = """
    page INTEGER NOT NULL, resource INTEGER NOT NULL, list INTEGER NOT NULL, number INTEGER NOT NULL, etag TEXT,
    last_modified TEXT, confirmed REAL, answered REAL, PRIMARY KEY (resource, list, page)
    """

  static let names = ["pull", "decision", "list", "page", "body", "same", "seen", "lie", "pause"].map { "next.\($0)" }

  static let views = ["temp.pulled", "temp.answers"]

  static let settings = """
    PRAGMA next.journal_mode = WAL; PRAGMA next.synchronous = NORMAL; PRAGMA next.cache_size = -500;
    PRAGMA next.secure_delete = OFF
    """

  /// Views of the connection. `pulled` has the pages of `next`, and `answers` the answers of `by_key`.
  /// - Parameter isWhole: False for a pull that has not ended: each page counts, and no answer.
  static func views(isWhole: Bool = true) -> String {
    """
    CREATE TEMP VIEW pulled AS
      SELECT resource, list, address, \(isWhole ? "number" : "coalesce(number, position) AS number"), place, sync
      FROM next.page WHERE address IS NOT NULL;
    CREATE TEMP VIEW answers AS SELECT place, resource, list FROM next.page WHERE address IS NULL AND \(isWhole);
    """
  }

  /// No page is part of a pull any more. The pages of lists that were pulled to their end stay together.
  static func reset(_ database: Database) throws {
    try database.run("UPDATE next.page SET number = NULL WHERE number IS NOT NULL")
    try forgetAnswers("true", in: database)
    try database.run("DELETE FROM next.body WHERE place NOT IN (SELECT place FROM next.page)")
    try database.run("DELETE FROM next.same WHERE list NOT IN (SELECT id FROM next.list WHERE asked IS NOT NULL)")
  }

  /// Drops the answers of a resource.
  static func forgetAnswers(of index: Int, in database: Database) throws {
    try forgetAnswers("resource = \(index)", in: database)
  }

  private static func forgetAnswers(_ condition: String, in database: Database) throws {
    let isAnswer = "address IS NULL AND \(condition)"
    try database.run("DELETE FROM next.body WHERE place IN (SELECT place FROM next.page WHERE \(isAnswer))")
    try database.run("DELETE FROM next.page WHERE \(isAnswer)")
  }

  /// A list of a child whose pages are stored.
  static func add(_ place: ListPlace, of index: Int, in database: Database) throws {
    if place.isRoot { return }
    try database.run(
      "INSERT OR IGNORE INTO next.list(id, resource, path) VALUES (?1, ?2, ?3)", .integer(place.number), Value(index),
      .text(place.path))
  }

  /// The same for a list that gets other pages than those of an earlier pull that has ended.
  static func reopen(_ place: ListPlace, of index: Int, in database: Database) throws {
    try add(place, of: index, in: database)
    try database.run("UPDATE next.list SET asked = NULL WHERE id = ?1 AND asked IS NOT NULL", .integer(place.number))
  }

  /// Drops the pages of a list, or of all lists of a resource.
  static func drop(_ index: Int, list: Int64?, in database: Database) throws {
    let values = [Value(index)] + (list.map { [.integer($0)] } ?? [])
    let isDropped = list == nil ? "resource = ?1" : "resource = ?1 AND list = ?2"
    let isEnded = list == nil ? "resource = ?1" : "resource = ?1 AND id = ?2"
    let statements =
      ["DELETE FROM next.body WHERE place IN (SELECT place FROM next.page WHERE \(isDropped))"]
      + ["page", "same", "seen"].map { "DELETE FROM next.\($0) WHERE \(isDropped)" }
      + ["UPDATE next.list SET asked = NULL WHERE \(isEnded) AND asked IS NOT NULL"]
      + ["DELETE FROM temp.same WHERE \(isDropped)"]
    try database.transaction("BEGIN") { for sql in statements { try database.statement(sql).run(values) } }
  }

  /// True if nothing is stored.
  static func isEmpty(_ database: Database) throws -> Bool {
    let isThere = ["page", "seen", "list"].map { "EXISTS (SELECT 1 FROM next.\($0))" }.joined(separator: " OR ")
    return try database.count("SELECT \(isThere)") == 0
  }

  static func see(
    _ index: Int, list: Int64, address: String, validator: Validator, at time: Date, answered: Date?, question: Int64,
    in database: Database
  ) throws {
    try database.statement("INSERT OR REPLACE INTO next.seen VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)").run([
      Value(index), .integer(list), .text(address), Value(time), Value(validator.etag), Value(validator.lastModified),
      Value(answered), .integer(question),
    ])
  }
}
