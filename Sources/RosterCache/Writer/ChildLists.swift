package import FoundationEssentials
internal import RosterDecode
package import RosterModel

/// A list of a child that a sync requests.
package struct WantedList: Sendable, Equatable {
  /// Identifies the list in this pull.
  package var place: ListPlace
  /// The values of its ancestors.
  package var values: ParentValues
}

/// The outcome of one child list in a pull.
package struct ListEnd: Sendable, Equatable {
  /// The state of the list after its pull.
  package enum State: Sendable, Equatable {
    /// All its pages are known.
    case pulled
    /// It has no records, and was not pulled (E4.1).
    case empty
    /// The reason, as one sentence (E7.1).
    case failed(String)
    /// Its parent disappeared (E7.3), with the reason.
    case vanished(String)
  }

  /// Name of the resource.
  package var resource: String
  /// Identifies the list in this pull.
  package var place: ListPlace
  /// The state of the list after its pull.
  package var state: State
  /// `Date` of its last answer; nil if no answer was needed.
  package var answered: Date?
  /// The number of records that upstream reports; nil without `count`.
  package var count: Int?

  /// The end of that list.
  package init(_ resource: String, _ place: ListPlace, _ state: State, answered: Date? = nil, count: Int? = nil) {
    (self.resource, self.place, self.state) = (resource, place, state)
    (self.answered, self.count) = (answered, count)
  }
}

/// Numbers of the lists of a child in a sync.
package struct ListCounts: Sendable, Equatable {
  /// Lists that this sync requests or has requested.
  package var requested = 0
  /// Those of them that an interrupted sync had pulled to their end (E8.1).
  package var kept = 0
  /// Failed and vanished ones.
  package var failed = 0
  /// Those of them whose parent disappeared.
  package var vanished = 0
  /// Lists that were obtained.
  package var obtained = 0
  /// True if a list of the resource was ever pulled by this definition.
  package var wasEverPulled = false

  /// No list.
  package init() {}
}

extension Cache {
  var family: Family { Family(tables: schema.tables) }

  /// Notes the parents that this pull adds, or changes so that lists of their children depend on it, and those that the
  /// publication will remove. Call it when the resource was compared, and its missing records were asked for.
  package func stageParents(_ resource: String, _ decision: RemovalDecision) throws {
    try performPull("find the parents of lists") { database, file in
      let index = try self.index(of: resource)
      guard family.hasChildren(index) else { return }
      try database.transaction("BEGIN") {
        for table in ["temp.parents", "temp.removed_parents"] {
          try database.run("DELETE FROM \(table) WHERE resource = ?1", Value(index))
        }
        var staging = try ParentStaging(self, index, database, file)
        for (scope, found) in try scopes(at: index, database) {
          tick()
          try staging.stage(scope, found)
          if scope.list != nil, let query = decision.removalQuery(for: plans[index], comparison: found) {
            try database.run(
              "INSERT OR IGNORE INTO temp.removed_parents SELECT ?1, record_id FROM (\(query))", in: scope)
          }
        }
        try stageRemovedBelow(index, database)
      }
    }
  }

  /// Records whose own parent is removed go with it (E5.1).
  private func stageRemovedBelow(_ index: Int, _ database: Database) throws {
    guard let parent = family.parent(of: index), let column = schema.tables[index].parentColumn,
      try isPublished(index, database)
    else { return }
    let tables = schema.tables[index]
    try database.run(
      """
      INSERT OR IGNORE INTO temp.removed_parents SELECT ?1, t.\(tables.id) FROM temp.removed_parents r
      CROSS JOIN main.\(tables.table) t ON t.\(column) = r.record_id WHERE r.resource = ?2
      """, Value(index), Value(parent))
  }

  /// True if the cache has the tables of the resource.
  private func isPublished(_ index: Int, _ database: Database) throws -> Bool {
    try database.first("SELECT 1 FROM main.resources WHERE name = ?1", .text(plans[index].resource.name)) { _ in true }
      ?? false
  }

  /// The lists of a resource that this pull has read completely, with their comparisons.
  func scopes(at index: Int, _ database: Database) throws -> [(ListScope, ResourceComparison)] {
    let name = plans[index].resource.name
    guard plans[index].resource.each != nil else {
      guard let found = pull.compared[name] else { return [] }
      return [(try ListScope(name, at: index, database), found)]
    }
    return try completeLists(at: index, database).map { scope in
      (scope, pull.comparedLists[scope.number] ?? ResourceComparison(resource: name))
    }
  }

  func completeLists(at index: Int, _ database: Database) throws -> [ListScope] {
    let name = plans[index].resource.name
    return try database.rows(
      "SELECT list, parent FROM temp.lists WHERE resource = ?1 AND state IN \(ParentTables.State.complete) ORDER BY list",
      Value(index)
    ) { ($0.integer(0), $0.integer(1)) }.map { number, parent in
      ListScope(index: index, number: number, parent: parent, list: try ListID(name, parent: parent, database))
    }
  }

  /// Decides which lists of a child this sync requests (E3). Lists that an interrupted sync has pulled to their end
  /// become part of the pull (E8.1).
  /// - Parameter maxAge: Largest age of such a list that is used although the definition has no `changed`.
  package func planLists(of resource: String, at now: Date, maxAge: Duration) throws {
    try performPull("choose the lists to request") { database, file in
      let index = try self.index(of: resource)
      try database.transaction("BEGIN") {
        try database.run(
          "UPDATE temp.lists SET state = 0, parent = NULL, error = NULL WHERE resource = ?1", Value(index))
        try ListPlanning(self, index, database, now: now).run()
        try useKept(index, at: now, maxAge, database, file)
      }
    }
  }

  private func useKept(
    _ index: Int, at now: Date, _ maxAge: Duration, _ database: Database, _ file: PageSpool
  ) throws {
    if pull.isFresh { return }
    let isDated = plans[index].resource.each?.changed.isEmpty == false
    let kept = try database.rows(
      """
      SELECT list, kept, kept_at FROM temp.lists
      WHERE resource = ?1 AND state = \(ParentTables.State.wanted.rawValue) AND kept >= ?2 AND kept_asked IS asked
      """, Value(index), .integer(pull.guardedBelow)
    ) { (list: $0.integer(0), place: $0.integer(1), at: $0.real(2)) }
    for entry in kept where isDated || (0..<maxAge.seconds).contains(now.timeIntervalSince1970 - entry.at) {
      tick()
      let (_, body) = try file.page(at: entry.place)
      guard let manifest = ListManifest(UnsafeRawBufferPointer(body)) else { continue }
      try manifest.restore(index, list: entry.list, database)
      pull.confirmed += manifest.same.count
    }
  }

  /// Lists to request, in the order of their numbers.
  package func wantedLists(of resource: String, after number: Int64, limit: Int) throws -> [WantedList] {
    try performPull("read the lists to request") { database, _ in
      try database.rows(
        """
        SELECT list, path, parent, facts FROM temp.lists
        WHERE resource = ?1 AND state = \(ParentTables.State.wanted.rawValue) AND list > ?2 ORDER BY list LIMIT ?3
        """, Value(try index(of: resource)), .integer(number), Value(limit)
      ) {
        WantedList(
          place: ListPlace(number: $0.integer(0), path: $0.text(1), parent: $0.integer(2)),
          values: ParentValues(json: $0.text(3).utf8) ?? ParentValues([]))
      }
    }
  }

  /// Ends lists. The pages of a complete one are kept until they are published (E8.1).
  package func endLists(_ ends: [ListEnd]) throws {
    guard !ends.isEmpty else { return }
    try performPull("keep pulled lists") { database, file in
      var entries: [(PageMetadata, [UInt8])] = []
      for end in ends {
        let index = try self.index(of: end.resource)
        let (state, error) = end.state.stored
        try database.run(
          "UPDATE temp.lists SET state = ?2, error = ?3, answered = ?4, count = ?5 WHERE list = ?1",
          .integer(end.place.number), Value(state.rawValue), Value(error),
          end.answered.map { .real($0.timeIntervalSince1970) } ?? .null, Value(end.count.map(Int64.init)))
        if case .pulled = end.state { entries.append(try entry(of: end, index, database)) }
      }
      guard !entries.isEmpty else { return }
      let places = try store(entries, database, file)
      for ((facts, _), place) in zip(entries, places) {
        let list = try ParentTables.number(of: facts.list, index(of: facts.resource), database)
        try ParentTables.keep(facts, list, place, database)
      }
    }
  }

  private func entry(of end: ListEnd, _ index: Int, _ database: Database) throws -> (PageMetadata, [UInt8]) {
    let body = try ListManifest(index, list: end.place.number, end, database).bytes
    let asked = try database.first("SELECT asked FROM temp.lists WHERE list = ?1", .integer(end.place.number)) {
      $0.optionalText(0)
    }
    let facts = PageMetadata(
      .list, number: begun, digest: try Self.digest(database)(body), resource: end.resource, list: end.place.path,
      address: (asked ?? nil) ?? "", receivedAt: end.answered ?? Date(timeIntervalSince1970: 0))
    return (facts, body)
  }

  /// Requests a list again, because its pages did not fit together (P7).
  package func pullAgain(_ resource: String, _ places: [ListPlace]) throws {
    for place in places { try discard(resource, place) }
    try performPull("request lists again") { database, _ in
      for place in places {
        try database.run(
          "UPDATE temp.lists SET state = \(ParentTables.State.wanted.rawValue) WHERE list = ?1", .integer(place.number))
      }
    }
  }

  /// Numbers of lists of a child in this sync.
  package func listCounts(of resource: String) throws -> ListCounts {
    try performPull("count lists") { database, _ in
      let index = try self.index(of: resource)
      var counts = ListCounts()
      let states = try database.rows(
        "SELECT state, count(*) FROM temp.lists WHERE resource = ?1 GROUP BY state", Value(index)
      ) { (ParentTables.State(rawValue: $0.int(0)), $0.int(1)) }
      for (state, number) in states {
        switch state {
        case .wanted: counts.requested += number
        case .pulled: (counts.requested, counts.obtained) = (counts.requested + number, counts.obtained + number)
        case .empty: counts.obtained += number
        case .failed: (counts.requested, counts.failed) = (counts.requested + number, counts.failed + number)
        case .vanished:
          counts.requested += number
          counts.failed += number
          counts.vanished += number
        case .known, nil: break
        }
      }
      counts.wasEverPulled =
        try database.first(
          "SELECT snapshot IS NOT NULL FROM main.cache_resources WHERE name = ?1", .text(resource)
        ) { $0.int(0) != 0 } ?? false
      return counts
    }
  }

  /// Parents of the first failed lists, with the reasons.
  package func failedLists(of resource: String, limit: Int) throws -> [(parent: String, reason: String)] {
    try performPull("list failed lists") { database, _ in
      try database.rows(
        """
        SELECT path, error FROM temp.lists WHERE resource = ?1 AND state IN (4, 5) ORDER BY list LIMIT ?2
        """, Value(try index(of: resource)), Value(limit)
      ) { ($0.text(0), $0.text(1)) }
    }
  }
}

extension ListEnd.State {
  fileprivate var stored: (ParentTables.State, String?) {
    switch self {
    case .pulled: (.pulled, nil)
    case .empty: (.empty, nil)
    case .failed(let why): (.failed, why)
    case .vanished(let why): (.vanished, why)
    }
  }
}

/// Finds the records of a parent resource that this pull adds or changes.
private struct ParentStaging {
  private let database: Database
  private let file: PageSpool
  private let tables: ResourceTables
  private let plan: RecordPlan
  private let needed: [Int]
  private let interruption: Interruption
  private let stored: StoredRecords?
  private let insert: Statement
  private var nextID: Int64

  init(_ cache: isolated Cache, _ index: Int, _ database: Database, _ file: PageSpool) throws {
    self.database = database
    self.file = file
    tables = cache.schema.tables[index]
    plan = cache.plans[index]
    interruption = cache.interruption
    let family = cache.family
    needed = family.neededColumns(index)
    let name = plan.resource.name
    let isKnown = try database.first(
      "SELECT snapshot IS NOT NULL FROM main.cache_resources WHERE name = ?1", .text(name)
    ) { $0.int(0) != 0 }
    stored = isKnown == true ? try StoredRecords(database, tables) : nil
    let first = 6
    let places = Dictionary(uniqueKeysWithValues: needed.enumerated().map { ($1, first + $0) })
    let columns = plan.resource.columns
    let own = family.facts(index) { name in
      columns.firstIndex { $0.name == name }.flatMap { places[$0] }.map { "?\($0)" } ?? "NULL"
    }
    let key = plan.resource.hasCompositeKey ? "json(?4)" : "?4"
    let list = "(SELECT l.path FROM temp.lists l WHERE l.list = ?3)"
    let path =
      tables.parent == nil
      ? "json_array(\(key))" : plan.resource.isDetail ? list : "json_insert(\(list), '$[#]', \(key))"
    let facts =
      tables.parent == nil ? own : "json_patch((SELECT l.facts FROM temp.lists l WHERE l.list = ?3), \(own))"
    insert = try database.statement(
      "INSERT OR REPLACE INTO temp.parents SELECT ?1, ?2, ?3, ?4, \(path), \(facts) WHERE ?5")
    nextID =
      try database.first(
        """
        SELECT max(coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = ?1), 0),
          coalesce((SELECT min(highest, ?3) FROM main.cache_record_ids WHERE resource = ?2), 0))
        """, .text(tables.resource.table), .text(name), .integer(.max / 2)
      ) { $0.integer(0) } ?? 0
  }

  mutating func stage(_ scope: ListScope, _ found: ResourceComparison) throws {
    for part in found.isAsked ? [PulledRecords.Part.answers] : [.pages, .answers] {
      var pulled = try PulledRecords(part, of: plan, scope, found, database, file, interruption)
      while try pulled.nextPage() != nil {
        while let step = try pulled.next() {
          guard case .record = step else { continue }
          switch try stored?.standing(of: &pulled.decoder, below: scope.parent) ?? .new {
          case .same: break
          case .changed(let difference):
            if difference.columns.contains(where: needed.contains) { try add(difference.id, scope, pulled.decoder) }
          case .new: try add(newID(scope, pulled.decoder.key), scope, pulled.decoder)
          }
        }
      }
    }
  }

  private mutating func newID(_ scope: ListScope, _ key: RecordKey) -> Int64 {
    if tables.hasOwnIDs {
      nextID += 1
      return nextID
    }
    if case .integer(let number) = key, !plan.isDetail { return number }
    return scope.parent
  }

  private func add(_ id: Int64, _ scope: ListScope, _ decoder: borrowing RecordDecoder) throws {
    insert.bind(1, Int64(scope.index))
    insert.bind(2, id)
    insert.bind(3, scope.number)
    insert.bind(4, decoder.key)
    insert.bind(5, Int64(1))
    for (offset, column) in needed.enumerated() { insert.bind(Int32(6 + offset), decoder.column(column)) }
    try insert.run()
  }
}

/// Chooses the lists of a child that a sync requests (E3).
private struct ListPlanning {
  private let database: Database
  private let family: Family
  private let index: Int
  private let parent: Int
  private let child: Resource
  private let each: Each
  private let now: Date
  private let isFresh: Bool
  /// True if the last published lists belong to another upstream.
  private let isForeign: Bool

  init(_ cache: isolated Cache, _ index: Int, _ database: Database, now: Date) throws {
    self.database = database
    self.index = index
    self.now = now
    family = cache.family
    child = cache.plans[index].resource
    isFresh = cache.pull.isFresh
    guard let each = child.each, let parent = family.parent(of: index) else {
      throw Failure(.defect, step: "choose lists", subject: child.name, cause: "it has no parent")
    }
    (self.each, self.parent) = (each, parent)
    isForeign =
      try database.first("SELECT upstream IS NOT ?1 FROM main.cache_identity", .text(cache.upstream)) {
        $0.int(0) != 0
      } ?? true
  }

  private var tables: ResourceTables { family.tables[parent] }

  /// Parameters: ?1 the resource, ?2 the time, ?3 its id in `cache_resources`.
  func run() throws {
    let facts = try database.first(
      """
      SELECT c.id, c.snapshot IS NOT NULL, (SELECT count(*) FROM main.cache_lists l WHERE l.resource_id = c.id)
      FROM main.cache_resources c WHERE c.name = ?1
      """, .text(child.name)
    ) { (id: $0.integer(0), isKnown: $0.int(1) != 0, lists: $0.int(2)) }
    let asksAll = isFresh || isForeign || each.wholeEvery == .inEachSync || facts?.isKnown != true
    try wantChanged(facts?.id, all: asksAll)
    let parents = try database.first("SELECT records FROM main.resources WHERE name = ?1", .text(each.parent)) {
      $0.int(0)
    }
    guard let parents else { return }
    if asksAll {
      try wantStored(facts?.id, "FROM main.\(tables.table) t WHERE true")
      return
    }
    try wantStored(
      facts?.id,
      """
      FROM main.cache_lists l CROSS JOIN main.\(tables.table) t ON t.\(tables.id) = l.parent_id
      WHERE l.resource_id = ?3 AND l.due_at <= ?2
      """)
    // A parent that was missed when the child was pulled for the first time has no list yet.
    guard let facts, facts.lists < parents else { return }
    try wantStored(
      facts.id,
      """
      FROM main.\(tables.table) t
      WHERE NOT EXISTS (SELECT 1 FROM main.cache_lists l WHERE l.resource_id = ?3 AND l.parent_id = t.\(tables.id))
      """)
  }

  private static let insert = """
    INSERT INTO temp.lists(resource, path, parent, state, facts, asked)
    """
  private static let conflict = """
    ON CONFLICT (resource, path) DO UPDATE SET parent = excluded.parent, state = excluded.state,
      facts = excluded.facts, asked = excluded.asked
    """

  private func wantChanged(_ id: Int64?, all: Bool) throws {
    let asked = family.asked(child, "s.facts")
    let isWanted =
      all
      ? "true"
      : """
      NOT EXISTS (SELECT 1 FROM main.cache_lists l WHERE l.resource_id = ?3 AND l.parent_id = s.record_id
        AND l.asked IS \(asked) AND coalesce(l.due_at > ?2, true))
      """
    try database.run(
      """
      \(Self.insert) SELECT ?1, s.path, s.record_id, 1, s.facts, \(asked) FROM temp.parents s
      WHERE s.resource = \(parent) AND \(isWanted) \(Self.conflict)
      """, Value(index), .real(now.timeIntervalSince1970), Value(id))
  }

  private func wantStored(_ id: Int64?, _ from: String) throws {
    let facts = family.facts(parent, "t")
    try database.run(
      """
      \(Self.insert) SELECT ?1, p.path, p.record_id, 1, p.facts, \(family.asked(child, "p.facts")) FROM (
        SELECT \(family.path(parent, "t")) AS path, t.\(tables.id) AS record_id, \(facts) AS facts \(from)
          AND NOT EXISTS (SELECT 1 FROM temp.parents s WHERE s.resource = \(parent) AND s.record_id = t.\(tables.id))
          AND \(family.isPublished(parent, "t"))) p
      WHERE true \(Self.conflict)
      """, Value(index), .real(now.timeIntervalSince1970), Value(id))
  }
}

/// The pages of a complete child list, which an interrupted sync leaves for the next one (E8.1).
private struct ListManifest {
  /// `Date` of its last answer, in seconds since 1970; nil if unknown.
  var answered: Double?
  var count: Int64?
  /// Pages of the file.
  var pages: [(number: Int64, place: Int64)]
  /// Published pages that are unchanged.
  var same: [(number: Int64, page: Int64)]

  init(_ index: Int, list: Int64, _ end: ListEnd, _ database: Database) throws {
    answered = end.answered?.timeIntervalSince1970
    count = end.count.map(Int64.init)
    func pairs(_ sql: String) throws -> [(Int64, Int64)] {
      try database.rows(sql, Value(index), .integer(list)) { ($0.integer(0), $0.integer(1)) }
    }
    pages = try pairs(
      "SELECT number, place FROM temp.pulled WHERE resource = ?1 AND list = ?2 AND number IS NOT NULL"
    ).map { ($0, $1) }
    same = try pairs("SELECT number, page FROM temp.same WHERE resource = ?1 AND list = ?2").map { ($0, $1) }
  }

  /// Makes the pages part of this pull, and ends the list.
  func restore(_ index: Int, list: Int64, _ database: Database) throws {
    let take = try database.statement(
      "UPDATE temp.pulled SET number = ?3 WHERE resource = ?1 AND list = ?2 AND place = ?4")
    for page in pages { try take.run([Value(index), .integer(list), .integer(page.number), .integer(page.place)]) }
    let keep = try database.statement("INSERT OR REPLACE INTO temp.same VALUES (?1, ?2, ?3, ?4, NULL, NULL)")
    for page in same { try keep.run([.integer(page.page), Value(index), .integer(list), .integer(page.number)]) }
    try database.run(
      "UPDATE temp.lists SET state = 2, answered = ?2, count = ?3 WHERE list = ?1", .integer(list),
      answered.map(Value.real) ?? .null, Value(count))
  }

  private static let absent = Int64.min

  var bytes: [UInt8] {
    let numbers =
      [Int64(bitPattern: (answered ?? -1).bitPattern), count ?? Self.absent, Int64(pages.count), Int64(same.count)]
      + pages.flatMap { [$0.number, $0.place] } + same.flatMap { [$0.number, $0.page] }
    return numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
  }

  /// nil if the bytes are not a list's end.
  init?(_ body: UnsafeRawBufferPointer) {
    var reader = FactsReader(body)
    guard let time = reader.number(), let count = reader.number(), let pages = reader.number(),
      let same = reader.number()
    else { return nil }
    let seconds = Double(bitPattern: UInt64(bitPattern: Int64(time)))
    answered = seconds < 0 ? nil : seconds
    self.count = Int64(count) == Self.absent ? nil : Int64(count)
    func pairs(_ number: Int) -> [(Int64, Int64)]? {
      var found: [(Int64, Int64)] = []
      for _ in 0..<number {
        guard let one = reader.number(), let other = reader.number() else { return nil }
        found.append((Int64(one), Int64(other)))
      }
      return found
    }
    guard let pages = pairs(pages), let same = pairs(same) else { return nil }
    self.pages = pages.map { ($0, $1) }
    self.same = same.map { ($0, $1) }
  }
}
