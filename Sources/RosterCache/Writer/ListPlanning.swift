internal import FoundationEssentials
internal import RosterCore
internal import RosterDecode

/// Chooses the lists of a child that a sync requests.
struct ListPlanning {
  private let database: Database
  private let data: PullData
  private let index: Int
  private let parent: Int
  private let child: Resource
  private let each: Each
  private let now: Date
  private let isFresh: Bool
  /// True if the last published lists belong to another upstream.
  private let isForeign: Bool

  init(_ data: PullData, resource index: Int, upstream: String, now: Date, isFresh: Bool) throws {
    database = data.database
    self.data = data
    self.index = index
    self.now = now
    child = data.plans[index].resource
    self.isFresh = isFresh
    guard let each = child.each, let parent = data.family.parent(of: index) else {
      throw Failure(.defect, step: "choose lists", subject: child.name, cause: "it has no parent")
    }
    (self.each, self.parent) = (each, parent)
    isForeign = try !database.isOf(upstream)
  }

  private var family: Family { data.family }
  private var tables: ResourceTables { data.tables[parent] }

  /// Parameters: ?1 the resource, ?2 the time, ?3 its id in `cache_resources`, ?4 the time as `whole_at` has it.
  func run() throws {
    let facts = try database.first(
      """
      SELECT c.id, c.snapshot IS NOT NULL, (SELECT count(*) FROM main.cache_lists l WHERE l.resource_id = c.id)
      FROM main.cache_resources c WHERE c.name = ?1
      """, .text(child.name)
    ) { (id: $0.integer(0), isKnown: $0.int(1) != 0, lists: $0.int(2)) }
    let asksAll =
      isFresh || isForeign || each.wholeEvery == .inEachSync || facts?.isKnown != true
      || data.tables[index].isWaiting
    try wantChanged(facts?.id, all: asksAll)
    let parents = try database.first("SELECT records FROM main.resources WHERE name = ?1", .text(each.parent)) {
      $0.int(0)
    }
    guard let parents, try data.arePublished(upFrom: parent) else { return }
    if asksAll {
      // `WHERE true` would be the column of a parent that has one of that name.
      try wantStored(facts?.id, from: "FROM \(tables.from) t WHERE 1")
      return
    }
    // Two statements, because each of the conditions has its own index.
    for isDue in ["l.due_at <= ?2", "l.whole_at > ?4 AND +l.due_at > ?2"] {
      try wantStored(
        facts?.id,
        from: """
          FROM main.cache_lists l CROSS JOIN \(tables.from) t ON t.\(tables.id) = l.parent_id
          WHERE l.resource_id = ?3 AND \(isDue)
          """)
    }
    try wantRecent(facts?.id)
    // A parent that was missed when the child was pulled for the first time has no list yet.
    guard let facts, facts.lists < parents else { return }
    try wantStored(
      facts.id,
      from: """
        FROM \(tables.from) t
        WHERE NOT EXISTS (SELECT 1 FROM main.cache_lists l WHERE l.resource_id = ?3 AND l.parent_id = t.\(tables.id))
        """)
  }

  /// The lists of the last windows are due in each sync.
  private func wantRecent(_ id: Int64?) throws {
    guard let windows = each.windows, let column = data.plans[parent].resource.windowColumn else { return }
    for start in windows.recentStarts(at: now) {
      try wantStored(id, from: "FROM \(tables.from) t WHERE t.\(quoted(column)) = \(literal(start))")
    }
  }

  private static let insert = """
    INSERT INTO temp.lists(resource, path, parent, state, facts, asked)
    """
  private static let conflict = """
    ON CONFLICT (resource, path) DO UPDATE SET parent = excluded.parent, state = excluded.state,
      facts = excluded.facts, asked = excluded.asked
    """

  /// A condition for `l` of `cache_lists`: the list is not due. If its last whole pull is in the future, its age is
  /// unknown, because the clock was wrong, and it is due.
  private static let isNotDue = "(l.due_at IS NULL OR l.due_at > ?2 AND coalesce(l.whole_at <= ?4, 1))"

  private func wantChanged(_ id: Int64?, all: Bool) throws {
    let asked = family.asked(child, "s.facts")
    let isWanted =
      all
      ? "true"
      : """
      NOT EXISTS (SELECT 1 FROM main.cache_lists l WHERE l.resource_id = ?3 AND l.parent_id = s.record_id
        AND l.asked IS \(asked) AND \(Self.isNotDue))
      """
    try database.run(
      """
      \(Self.insert) SELECT ?1, s.path, s.record_id, 1, s.facts, \(asked) FROM temp.parents s
      WHERE s.resource = \(parent) AND \(isWanted) \(Self.conflict)
      """, Value(index), Value(now), Value(id), .text(now.rfc3339))
  }

  private func wantStored(_ id: Int64?, from: String) throws {
    let facts = family.facts(parent, "t")
    try database.run(
      """
      \(Self.insert) SELECT ?1, p.path, p.record_id, 1, p.facts, \(family.asked(child, "p.facts")) FROM (
        SELECT \(family.path(parent, row: "t")) AS path, t.\(tables.id) AS record_id, \(facts) AS facts \(from)
          AND NOT EXISTS (SELECT 1 FROM temp.parents s WHERE s.resource = \(parent) AND s.record_id = t.\(tables.id))
          AND \(family.isPublished(parent, row: "t"))) p
      WHERE true \(Self.conflict)
      """, Value(index), Value(now), Value(id), .text(now.rfc3339))
  }
}
