internal import FoundationEssentials
internal import RosterCore

/// The temporary tables of a pull, on the connection of the writer or of a reader.
enum PulledTables {
  /// The column `list` is the number of the list; 0 for the only list of a resource. `ParentTables`
  /// describes its tables.
  ///
  /// - same: published pages that are part of this pull, unchanged. confirmed: when upstream said so.
  /// - missed_pages: published pages that are not part of this pull.
  /// - rejected: records that cannot be stored, with the reasons.
  ///
  /// Each primary key begins with the resource, so that no statement reads the rows of other resources. The views are
  /// those of `StagingTables`.
  static let create = tables + StagingTables.views()

  static let tables = """
    CREATE TABLE temp.same(\(StagingTables.same)) WITHOUT ROWID;
    CREATE TABLE temp.missed_pages(page INTEGER NOT NULL, resource INTEGER NOT NULL, list INTEGER NOT NULL,
      PRIMARY KEY (resource, list, page)) WITHOUT ROWID;
    CREATE TABLE temp.rejected(resource INTEGER NOT NULL, list INTEGER NOT NULL, page INTEGER NOT NULL,
      position INTEGER NOT NULL, key TEXT, reason TEXT NOT NULL, document TEXT NOT NULL,
      PRIMARY KEY (resource, list, page, position)) WITHOUT ROWID;
    \(ParentTables.create)
    \(KeyTables.all.map(\.create).joined(separator: "\n"))

    """

  /// The tables above, and the table that only readers have.
  static let names =
    ["same", "missed_pages", "rejected", "differences"].map { "temp.\($0)" } + ParentTables.names
    + KeyTables.all.flatMap(\.names)

  /// Drops these tables, and the views.
  static let drop =
    names.map { "DROP TABLE IF EXISTS \($0);" }.joined()
    + StagingTables.views.map { "DROP VIEW IF EXISTS \($0);" }.joined()

  /// Closes SQLite's file of temporary tables if it is large, and makes the tables again. Such a file never shrinks: it
  /// would take room on the disk until rosterd ends. Returns false if nothing was done. Call it outside of a
  /// transaction.
  static func shrink(in database: Database) throws -> Bool {
    // SQLite may have to write other pages before it can read the size, which a full disk prevents.
    let pages = try? database.count("PRAGMA temp.page_count")
    guard pages ?? .max > maxPages else { return false }
    // A change of this setting closes the file (sqlite.org/pragma.html#pragma_temp_store). 0 and 1 both mean a file.
    let isDefault = try database.count("PRAGMA temp_store") == 0
    try database.execute("PRAGMA temp_store = \(isDefault ? 1 : 0); PRAGMA temp.cache_size = -\(cacheSize)")
    try database.execute(create)
    return true
  }

  /// 1 MiB.
  private static let maxPages = 256
  /// KiB of memory for temporary tables, which are written once and read once.
  static let cacheSize = 500

  /// Notes what an answer of `by_key` says about missing records.
  static func answer(_ facts: StagedPage, isText: Bool, in database: Database) throws {
    let mark = try database.statement(
      """
      UPDATE \(KeyTables(isText: isText).missing) SET answered = ?4 WHERE resource = ?1 AND list = ?2 AND key = ?3
      """)
    for (keys, state) in [(facts.skippedKeys, 3), (facts.rejectedKeys, 2), (facts.keys, 1)] {
      try keys.forEachKey(isText: isText) { key in
        mark.bind(1, Int64(facts.resource))
        mark.bind(2, facts.list)
        mark.bind(3, key)
        mark.bind(4, Int64(state))
        try mark.run()
      }
    }
  }
}

/// The temporary tables with keys of records. Integer keys and text keys have separate tables, because SQLite cannot
/// look an INTEGER value up in an index without a type. It would read all keys of the resource instead.
struct KeyTables {
  static let all = [KeyTables(isText: false), KeyTables(isText: true)]

  let isText: Bool

  /// Keys of pages that were transferred, with the place of the record that wins (`KeyPlace`).
  var pulled: String { name("pulled_keys") }
  /// Keys of published pages that are not part of this pull.
  var superseded: String { name("superseded_keys") }
  /// Keys of rejected records.
  var rejected: String { name("rejected_keys") }
  /// Keys of rejected and skipped records of pages that were transferred.
  var excluded: String { name("excluded_keys") }
  /// Records of the snapshot that no page lists. answered: 0 without an answer, 1 if upstream still has the record, 2
  /// if that record was rejected, 3 if `by_key` did not find it.
  var missing: String { name("missing") }

  /// A condition for rows of `missing`: upstream has the record.
  static let isFound = "answered BETWEEN 1 AND 2"
  /// A condition for rows of `missing`: `by_key` was asked in this sync and did not find the record.
  static let isNotFound = "answered = 3"
  /// Numbers up to this one are no record ids, but placeholders of keys that the cache does not have.
  static let lastPlaceholder = Int64.min + (1 << 40)

  /// Keys of an incremental pull: the highest value at `since.at`, its place, and what the record is
  /// (`IncrementalComparison.Kind`).
  var received: String { name("received_keys") }

  var names: [String] { compared + [missing] }
  /// The tables that each comparison fills again.
  var compared: [String] { [pulled, superseded, rejected, excluded, received] }

  private func name(_ table: String) -> String { "temp.\(table)_\(isText ? "text" : "integer")" }

  fileprivate var create: String {
    let type = isText ? "TEXT" : "INTEGER"
    let start = "(resource INTEGER NOT NULL, list INTEGER NOT NULL, key \(type) NOT NULL"
    let end = "PRIMARY KEY (resource, list, key)) WITHOUT ROWID;"
    return """
      CREATE TABLE \(pulled)\(start), place INTEGER NOT NULL, \(end)
      CREATE TABLE \(superseded)\(start), \(end)
      CREATE TABLE \(rejected)\(start), \(end)
      CREATE TABLE \(excluded)\(start), \(end)
      CREATE TABLE \(received)\(start), mark INTEGER NOT NULL, place INTEGER NOT NULL, kind INTEGER NOT NULL, \(end)
      CREATE TABLE \(missing)\(start), record_id INTEGER NOT NULL, absent INTEGER NOT NULL,
        answered INTEGER NOT NULL, PRIMARY KEY (resource, list, record_id), UNIQUE (resource, list, key)) WITHOUT ROWID;
      """
  }
}

extension ResourceTables {
  var keys: KeyTables { KeyTables(isText: hasTextKey) }
}
