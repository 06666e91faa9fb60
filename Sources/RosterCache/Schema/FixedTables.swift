internal import RosterCore

/// The tables that every cache has, whatever its resources.
enum FixedTables {
  static let create =
    [
      // validators: trusted or distrusted. distrusted_since: the time of the sync that found the lie. parent:
      // `each.of`; NULL for a resource with one list.
      """
      CREATE TABLE main.resources(
        name TEXT PRIMARY KEY, "table" TEXT NOT NULL, key TEXT NOT NULL, records INTEGER NOT NULL, pages INTEGER NOT NULL,
        proof TEXT, definition TEXT NOT NULL, validators TEXT NOT NULL DEFAULT 'trusted', distrusted_since TEXT,
        parent TEXT)
      """, syncs, "CREATE INDEX main.syncs_by_outcome ON syncs(outcome)",
      // whole: number of lists that were pulled whole. missed: as resource_lists has it, of the whole pulls in that
      // sync. lists: number of requested lists. lists_failed: those of them that failed or vanished.
      """
      CREATE TABLE main.sync_resources(
        sync_id INTEGER NOT NULL, resource TEXT NOT NULL, pages INTEGER NOT NULL, records INTEGER NOT NULL,
        added INTEGER NOT NULL, changed INTEGER NOT NULL, removed INTEGER NOT NULL, rejected INTEGER NOT NULL,
        skipped INTEGER NOT NULL, whole INTEGER, requests INTEGER, missed INTEGER, lists INTEGER, lists_failed INTEGER,
        PRIMARY KEY (sync_id, resource)) WITHOUT ROWID
      """, ownChanges, "CREATE INDEX main.changes_by_record ON cache_changes(resource, record_id)", rejects,
      rejectsByDocument,
      // feed: the feed in cache_info. upstream: the upstream of the snapshot. pulled: the file of pulled pages that
      // rosterd made, by FileIdentity. held_until: the time before which the upstream held_by wants no page request, as
      // it said at held_at.
      """
      CREATE TABLE main.cache_identity(
        one INTEGER PRIMARY KEY CHECK (one = 1), feed TEXT NOT NULL, upstream TEXT, digest_key BLOB NOT NULL,
        pulled TEXT, held_by TEXT, held_at REAL, held_until REAL)
      """,
      "INSERT INTO main.cache_identity VALUES (1, lower(hex(randomblob(16))), NULL, randomblob(16), NULL, NULL, NULL, NULL)",
      ownResources, lists,
      // Each published page: its validators for the next request, and the keys that it lists. kind: 0 for a page of the
      // last whole pull, 1 for a page of the last incremental pull. highest: the highest value at `since.at`, as its
      // record has it, or the delta token of the page.
      """
      CREATE TABLE main.cache_pages(
        id INTEGER PRIMARY KEY, list_id INTEGER NOT NULL, address TEXT NOT NULL, number INTEGER NOT NULL,
        etag TEXT, last_modified TEXT, next TEXT, count INTEGER, last INTEGER, records INTEGER NOT NULL,
        storable INTEGER NOT NULL, rejects INTEGER NOT NULL, unknown INTEGER NOT NULL, skipped INTEGER NOT NULL,
        digest INTEGER NOT NULL, keys BLOB NOT NULL, rejected_keys BLOB NOT NULL, skipped_keys BLOB NOT NULL,
        kind INTEGER NOT NULL DEFAULT 0, highest TEXT, UNIQUE (list_id, address))
      """, "CREATE INDEX main.cache_pages_rejecting ON cache_pages(list_id) WHERE rejects > 0",
      // Records of the snapshot that no page of the last whole pull lists. absent: with `twice` the number of
      // successive whole pulls that missed the record, with `never` 1, and 0 if upstream has it. These records and
      // the keys of cache_pages together are all records.
      """
      CREATE TABLE main.cache_unlisted(
        list_id INTEGER NOT NULL, record_id INTEGER NOT NULL, absent INTEGER NOT NULL,
        PRIMARY KEY (list_id, record_id)) WITHOUT ROWID
      """,
      // The highest record id that each resource has used in tables that were dropped. New ids start after it.
      "CREATE TABLE main.cache_record_ids(resource TEXT PRIMARY KEY, highest INTEGER NOT NULL) WITHOUT ROWID", overlaid,
      info,
      resourceLists,
    ] + listIndexes + changes

  /// snapshot: the sync that first published the resource. list: `Resource.listed` of its records.
  static let ownResources =
    "CREATE TABLE main.cache_resources(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, snapshot INTEGER, list TEXT)"

  /// The lists of each resource, with the totals of the pages of the last whole pull. parent_id is 0 for the only list
  /// of a resource. repeats: duplicate keys. question: digest of what an incremental pull asks and looks for, and of
  /// the columns of ancestors on which that depends (`Family.questionColumns`); 0 without both. mark, whole_at and
  /// missed: as resource_lists has them. token: the delta token, which no view has.
  /// The other columns are for the lists of a child. records, proof, state and error: as resource_lists has them.
  /// asked: JSON of the parent's `changed` columns at the last request. due_at: the time from which the list is
  /// requested again although these columns are unchanged, in seconds since 1970. 0 is the next sync, and NULL no
  /// time. `dueWhole` also means the next sync. not_found_at: the time of the first answer 404 or 410, in seconds since
  /// 1970; NULL if the last answer was another one.
  static let lists = """
    CREATE TABLE main.cache_lists(
      id INTEGER PRIMARY KEY, resource_id INTEGER NOT NULL, parent_id INTEGER NOT NULL,
      pages INTEGER NOT NULL DEFAULT 0, storable INTEGER NOT NULL DEFAULT 0, rejects INTEGER NOT NULL DEFAULT 0,
      unknown INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0, repeats INTEGER NOT NULL DEFAULT 0,
      question INTEGER NOT NULL DEFAULT 0, mark TEXT, whole_at TEXT, missed INTEGER, token TEXT, records INTEGER,
      proof TEXT, asked TEXT, due_at REAL, state TEXT NOT NULL DEFAULT 'current', error TEXT,
      not_found_at REAL, UNIQUE (resource_id, parent_id))
    """

  /// `due_at` of a list whose last whole pull could not ask for all missing records.
  static let dueWhole = -1

  /// Seconds of the longest pause before a list is requested again that 404 or 410 answered.
  static let maxPause = 86_400

  /// A condition for `row` of `cache_lists`: the last whole pull could not ask for all missing records.
  static func isDueWhole(_ row: String) -> String {
    "coalesce(\(row).due_at = \(dueWhole), 0)"
  }

  /// Indexes for the choice of lists, and for the facts of children. A sync of three lists must not read 10,000.
  static let listIndexes = [
    "CREATE INDEX main.cache_lists_due ON cache_lists(resource_id, due_at) WHERE due_at IS NOT NULL",
    "CREATE INDEX main.cache_lists_failed ON cache_lists(resource_id, state) WHERE state <> 'current'",
    "CREATE INDEX main.cache_lists_whole ON cache_lists(resource_id, whole_at) WHERE whole_at IS NOT NULL",
    "CREATE INDEX main.cache_lists_missed ON cache_lists(resource_id, missed) WHERE missed IS NOT NULL",
  ]

  /// Keys of records that something other than a page of a whole pull wrote or removed. The next whole pull
  /// transfers each page that lists one of them.
  static let overlaid = """
    CREATE TABLE main.cache_overlaid(
      list_id INTEGER NOT NULL, key NOT NULL, PRIMARY KEY (list_id, key)) WITHOUT ROWID
    """

  static let resourceLists = """
    CREATE VIEW main.resource_lists AS
      SELECT r.name AS resource, l.parent_id AS parent_id, coalesce(l.records, r.records) AS records,
        coalesce(l.proof, r.proof) AS proof, l.mark AS mark, l.whole_at AS whole_at, l.missed AS missed,
        l.state AS state, l.error AS error
      FROM cache_lists l JOIN cache_resources c ON c.id = l.resource_id JOIN resources r ON r.name = c.name
    """

  /// verified_at: the time of the oldest answer that the sync used; NULL if it used none.
  static let syncs = """
    CREATE TABLE main.syncs(
      id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, finished_at TEXT, outcome TEXT NOT NULL,
      pages INTEGER NOT NULL, records INTEGER NOT NULL, added INTEGER NOT NULL, changed INTEGER NOT NULL,
      removed INTEGER NOT NULL, rejected INTEGER NOT NULL, skipped INTEGER NOT NULL, requests INTEGER NOT NULL,
      not_modified INTEGER NOT NULL, resumed INTEGER NOT NULL, retries INTEGER NOT NULL, refreshes INTEGER NOT NULL,
      bytes INTEGER NOT NULL, exit INTEGER, error TEXT, lists INTEGER NOT NULL DEFAULT 0,
      lists_failed INTEGER NOT NULL DEFAULT 0, verified_at TEXT)
    """

  /// The rows of `changes`. If `head` and `rest` are NULL, `before` is the whole document. Otherwise it is the part of
  /// the old document that differs from `after`. Before it come the first `head` characters of `after`; after it come
  /// those from number `rest` on. Most changes are small, so that the history needs about half the space.
  static let ownChanges = """
    CREATE TABLE main.cache_changes(
      id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id INTEGER NOT NULL, resource TEXT NOT NULL,
      record_id INTEGER NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL, before TEXT, after TEXT,
      head INTEGER, rest INTEGER)
    """

  /// The view `changes`. Programs may change its rows as in version 2, in which it was a table. DuckDB, which parses
  /// the text itself, needs the quotes.
  static let changes = [
    """
    CREATE VIEW main.changes AS
      SELECT id, sync_id, resource, record_id, kind, "at", CASE WHEN head IS NULL THEN before
        ELSE substr(after, 1, head) || before || substr(after, rest) END AS before, after
      FROM cache_changes
    """,
    """
    CREATE TRIGGER main.changes_insert INSTEAD OF INSERT ON changes BEGIN
      INSERT INTO cache_changes(id, sync_id, resource, record_id, kind, at, before, after)
      VALUES (NEW.id, NEW.sync_id, NEW.resource, NEW.record_id, NEW.kind, NEW.at, NEW.before, NEW.after);
    END
    """,
    """
    CREATE TRIGGER main.changes_update INSTEAD OF UPDATE ON changes BEGIN
      UPDATE cache_changes SET id = NEW.id, sync_id = NEW.sync_id, resource = NEW.resource, record_id = NEW.record_id,
        kind = NEW.kind, at = NEW.at, before = NEW.before, after = NEW.after, head = NULL, rest = NULL
      WHERE id = OLD.id;
    END
    """,
    """
    CREATE TRIGGER main.changes_delete INSTEAD OF DELETE ON changes BEGIN
      DELETE FROM cache_changes WHERE id = OLD.id;
    END
    """,
  ]

  /// parent_id: record id of the parent; 0 for a resource with one list. The columns of the primary key are together.
  /// In another order, SQLite's integrity check reports NULL values that do not exist.
  static let rejects = """
    CREATE TABLE main.rejects(
      sync_id INTEGER NOT NULL, resource TEXT NOT NULL, parent_id INTEGER NOT NULL, page INTEGER NOT NULL,
      position INTEGER NOT NULL, key TEXT, reason TEXT NOT NULL, document TEXT NOT NULL,
      PRIMARY KEY (resource, parent_id, page, position)) WITHOUT ROWID
    """

  /// With this index, an incremental pull finds a record that an earlier pull rejected alike.
  static let rejectsByDocument =
    "CREATE INDEX main.rejects_by_document ON rejects(resource, parent_id, document, reason)"

  static let info = """
    CREATE VIEW main.cache_info AS
      SELECT \(Schema.version) AS schema_version, i.upstream AS upstream, p.id AS snapshot, p.finished_at AS published_at,
        coalesce(v.verified_at, v.finished_at) AS verified_at, (SELECT coalesce(sum(r.records), 0) FROM resources r) AS records,
        (SELECT coalesce(sum(r.pages), 0) FROM resources r) AS pages,
        -- The first snapshot writes no changes: whoever read before it must be told to read anew.
        i.feed || CASE WHEN p.id IS NULL THEN '-empty' ELSE '' END AS feed
      FROM cache_identity i
      LEFT JOIN syncs p ON p.id = (SELECT max(id) FROM syncs WHERE outcome = 'published')
      LEFT JOIN syncs v ON v.id = \(verified(in: ""))
    """

  /// The last sync that published or verified the snapshot; 0 if there is no such sync.
  static let verified = verified(in: "main.")

  /// - Parameter schema: The schema of the table with a dot; empty in a view, which only looks into its own schema.
  private static func verified(in schema: String) -> String {
    """
    max(coalesce((SELECT max(id) FROM \(schema)syncs WHERE outcome = 'published'), 0),
      coalesce((SELECT max(id) FROM \(schema)syncs WHERE outcome = 'unchanged'), 0))
    """
  }

  /// A condition for `syncs`: true for rows that `history` may delete. It keeps the snapshot's sync and the last sync
  /// that verified it.
  static let isNotKept = """
    id <> coalesce((SELECT max(id) FROM main.syncs WHERE outcome = 'published'), 0)
      AND id <> coalesce((SELECT max(id) FROM main.syncs WHERE outcome = 'unchanged'), 0)
    """

  /// Defines the view `removed`, which looks into every resource's table.
  static func removed(_ tables: [ResourceTables]) -> [String] {
    let isThere = tables.map { "WHEN \(literal($0.resource.name)) THEN \($0.isThereAgain(among: tables))" }
    let keys = tables.map {
      "WHEN \(literal($0.resource.name)) THEN \(DocumentKey(of: $0, inDocument: "c.before", among: tables, schema: "").value)"
    }
    let key = keys.isEmpty ? "NULL" : "CASE c.resource \(keys.joined(separator: " ")) END"
    let there = isThere.isEmpty ? "0" : "CASE c.resource \(isThere.joined(separator: " ")) ELSE 0 END"
    return [
      "DROP VIEW IF EXISTS main.removed",
      """
      CREATE VIEW main.removed AS
        SELECT c.resource AS resource, c.record_id AS record_id, c.at AS at, c.before AS document,
          \(key) AS key FROM changes c
        WHERE c.kind = 'removed' AND NOT \(there)
          AND c.id = (SELECT max(n.id) FROM changes n WHERE n.resource = c.resource AND n.record_id = c.record_id)
      """,
    ]
  }
}
