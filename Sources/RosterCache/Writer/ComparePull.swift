internal import FoundationEssentials
internal import RosterCore
internal import RosterDecode

extension Cache {
  /// Compares the complete lists of a resource with the snapshot. Every page is a sign of life. Throws
  /// CancellationError if `interruptPublish` or a cancelled task ended it.
  /// - Parameter drift: The reason why the pages of a list do not fit together; nil if they fit. Its arguments are the
  ///   comparison of the list, and the number of records that upstream reports for a list of a child.
  /// - Returns: The sums over all lists, and the lists with a drift.
  package func compare(
    _ resource: String, drift: @Sendable (ResourceComparison, Int?) -> String?
  ) throws -> (found: ResourceComparison, drifts: [ListDrift]) {
    let result = try performPull("compare the pull with the snapshot") { database, file in
      try interruptible(database) {
        try file.endEarlierPull()
        let index = try self.index(of: resource)
        try beginComparison(index, in: database)
        let data = data(database, file: file)
        guard plans[index].resource.each == nil else { return try compareLists(index, of: data, drift: drift) }
        let scope = try data.scope(index, isIncremental: pull.incremental.contains(resource))
        let found = try data.compare(scope)
        let place = ListPlace()
        let drifts = drift(found, nil).map { ListDrift(place: place, reason: $0, isIncremental: scope.isIncremental) }
        return (found, drifts.map { [$0] } ?? [])
      }
    }
    pull.compared[resource] = result.found
    return result
  }

  /// Throws (70) unless each resource was compared after its last page.
  func expectComparisons() throws {
    guard let plan = plans.first(where: { pull.compared[$0.resource.name] == nil }) else { return }
    throw Failure(.defect, step: "publish", subject: plan.resource.name, cause: "it was not compared")
  }

  private func compareLists(
    _ index: Int, of data: PullData, drift: (ResourceComparison, Int?) -> String?
  ) throws -> (found: ResourceComparison, drifts: [ListDrift]) {
    var total = ResourceComparison(resource: plans[index].resource.name)
    var drifts: [ListDrift] = []
    try data.forEachList(of: index) { scope, _ in
      let found = try data.compare(scope)
      try data.note(found, of: scope)
      total.add(found)
      if let drift = try self.drift(of: scope, found, drift: drift, in: data.database) { drifts.append(drift) }
    }
    try countRemovedWithParents(index, total: &total, in: data.database)
    return (total, drifts)
  }

  private func drift(
    of scope: ListScope, _ found: ResourceComparison, drift: (ResourceComparison, Int?) -> String?,
    in database: Database
  ) throws -> ListDrift? {
    let facts = try database.first(
      "SELECT path, count FROM temp.lists WHERE list = ?1", .integer(scope.number)
    ) { (path: $0.text(0), count: $0.optionalInteger(1)) }
    guard let facts, let reason = drift(found, facts.count.map { Int($0) }) else { return nil }
    return ListDrift(
      place: ListPlace(number: scope.number, path: facts.path, parent: scope.parent), reason: reason,
      isIncremental: scope.isIncremental)
  }

  /// Counts the records whose parent the publication removes, and the records of the snapshot.
  private func countRemovedWithParents(
    _ index: Int, total: inout ResourceComparison, in database: Database
  ) throws {
    let tables = schema.tables[index]
    total.snapshot = try database.count(
      "SELECT records FROM main.resources WHERE name = ?1", .text(tables.resource.name))
    guard total.snapshot > 0, let parent = Family(tables: schema.tables).parent(of: index),
      let column = tables.parentColumn
    else { return }
    total.removedWithParents = try database.count(
      """
      SELECT count(*) FROM temp.removed_parents r CROSS JOIN \(tables.from) t ON t.\(column) = r.record_id
      WHERE r.resource = ?1
      """, Value(parent))
  }

  private func beginComparison(_ index: Int, in database: Database) throws {
    for table in KeyTables.all.map(\.missing) {
      try database.run("DELETE FROM \(table) WHERE resource = ?1", Value(index))
    }
    try StagingTables.forgetAnswers(of: index, in: database)
  }

  /// The missing records of the last comparison that no kept answer has, by ascending id.
  package func missing(
    _ resource: String, list: Int64 = 0, after id: Int64, limit: Int
  ) throws -> [MissingRecord] {
    try performPull("list missing records") { database, _ in
      let index = try self.index(of: resource)
      let keys = schema.tables[index].keys
      return try database.rows(
        """
        SELECT record_id, key FROM \(keys.missing) WHERE resource = ?1 AND list = ?4 AND record_id > ?2
          AND NOT answered ORDER BY record_id LIMIT ?3
        """, Value(index), .integer(id), Value(limit), .integer(list)
      ) { MissingRecord(id: $0.integer(0), key: keys.isText ? .text($0.text(1)) : .integer($0.integer(1))) }
    }
  }

  /// Keeps an answer of `by_key`, scanned as an answer, for this sync. Its records are kept in the snapshot and
  /// updated. A record that cannot be stored keeps its last good version. Records that were not requested are
  /// ignored. No later sync uses the answer.
  /// - Parameter notFound: The keys that upstream does not have, by this answer.
  package func keep(_ answer: PageBody, notFound: [String]) throws {
    try performPull("keep records asked for by key") { database, file in
      let index = try self.index(of: answer.resource)
      let isText = plans[index].hasTextKeys
      var facts = StagedPage(answer, of: index, isAnswer: true)
      var missing = KeyList()
      for key in notFound { missing.append(key, isText: isText) }
      // Records that `where` skips are not found either. The keys of one list cannot follow those of another one.
      facts.skippedKeys.forEachKey(isText: isText) { missing.append($0) }
      facts.skippedKeys = missing.bytes
      try database.transaction("BEGIN") {
        try file.stores(for: begun)
        try StagingTables.add(answer.place, of: index, in: database)
        _ = try file.insert(facts, body: answer.body, sync: begun)
        try PulledTables.answer(facts, isText: isText, in: database)
      }
    }
  }

  /// Keys of storable records on the last page that this sync received. Without such a page: of one that an
  /// interrupted sync received, else of an unchanged one.
  package func seenKeys(_ resource: String, list: Int64, limit: Int) throws -> [MissingRecord.Key] {
    try performPull("read what was pulled") { database, file in
      let index = try self.index(of: resource)
      let isText = plans[index].hasTextKeys
      let places = try database.rows(
        """
        SELECT place FROM temp.pulled WHERE resource = ?1 AND list = ?2 AND number IS NOT NULL
        ORDER BY sync = ?3 DESC, number DESC
        """, Value(index), .integer(list), .integer(begun)
      ) { $0.integer(0) }
      for place in places {
        let keys = try file.page(at: place).keys
        if !keys.isEmpty { return keys.lastKeys(limit, isText: isText) }
      }
      let keys = try database.first(
        """
        SELECT p.keys FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page
        WHERE s.resource = ?1 AND s.list = ?2 AND p.storable > 0 ORDER BY s.number DESC LIMIT 1
        """, Value(index), .integer(list)
      ) { $0.bytes(0) }
      return (keys ?? []).lastKeys(limit, isText: isText)
    }
  }

  /// A list of a child whose pages in this sync have a storable record, for a control question. nil if no list
  /// has one.
  /// With `ask`, a page of an incremental pull has keys that upstream may not have any more.
  package func seenList(of resource: String) throws -> WantedList? {
    try performPull("find a pulled list") { database, file in
      let index = try self.index(of: resource)
      let since = plans[index].resource.since
      let isSeen = "l.state = \(ParentTables.State.pulled.rawValue) AND (l.start IS NULL OR \(since?.asks != true))"
      func list(_ number: Int64) throws -> WantedList? {
        try database.first("SELECT \(WantedList.columns) FROM temp.lists l WHERE l.list = ?1", .integer(number)) {
          WantedList($0, since)
        }
      }
      let pages = try database.once(
        """
        SELECT p.list, p.place FROM temp.pulled p CROSS JOIN temp.lists l ON l.list = p.list AND \(isSeen)
        WHERE p.resource = \(index) AND p.number IS NOT NULL
        """)
      while try pages.step() {
        if try !file.page(at: pages.row.integer(1)).keys.isEmpty { return try list(pages.row.integer(0)) }
      }
      let unchanged = try database.first(
        """
        SELECT s.list FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page AND p.storable > 0
        CROSS JOIN temp.lists l ON l.list = s.list AND \(isSeen) WHERE s.resource = ?1 LIMIT 1
        """, Value(index)
      ) { $0.integer(0) }
      return try unchanged.flatMap(list)
    }
  }

  /// Keys for a control question: of the records of the snapshot that changed last, in this list, else in one
  /// other list. Records that this pull misses are left out. A record that the last whole pull missed comes last,
  /// because upstream has probably deleted it. nil if no record is left.
  package func latestKeys(_ resource: String, in place: ListPlace, limit: Int) throws -> LatestKeys? {
    try performPull("read the latest records") { database, _ -> LatestKeys? in
      let index = try self.index(of: resource)
      let tables = schema.tables[index]
      let isText = tables.keys.isText
      let parent = tables.parentColumn.map { "t.\($0)" } ?? "0"
      let found = try database.rows(
        """
        SELECT \(tables.key(of: "t")), \(parent) FROM \(tables.from) t
        WHERE NOT EXISTS (SELECT 1 FROM \(tables.keys.missing) m WHERE m.resource = ?1 AND m.record_id = t.\(tables.id)
            AND m.list = coalesce((SELECT l.list FROM temp.lists l WHERE l.resource = ?1 AND l.parent = \(parent)), 0))
          AND NOT EXISTS (SELECT 1 FROM temp.removed_parents r WHERE r.resource = ?4 AND r.record_id = \(parent))
        ORDER BY \(parent) = ?3 DESC, t.\(tables.id) IN (
          SELECT u.record_id FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
          CROSS JOIN main.cache_unlisted u ON u.list_id = l.id AND u.absent > 0 WHERE c.name = ?5),
          t.changed_sync DESC, t.\(tables.id) DESC LIMIT ?2
        """, Value(index), Value(limit), .integer(place.parent),
        Value(Family(tables: schema.tables).parent(of: index) ?? -1), .text(resource)
      ) { (key: isText ? MissingRecord.Key.text($0.text(0)) : .integer($0.integer(0)), parent: $0.integer(1)) }
      guard let first = found.first else { return nil }
      let keys = found.filter { $0.parent == first.parent }.map(\.key)
      return LatestKeys(
        keys: keys, isOfList: first.parent == place.parent, values: try values(of: first.parent, for: index, database))
    }
  }

  /// The values of a stored parent on which the requests for its list depend.
  private func values(of record: Int64, for child: Int, _ database: Database) throws -> ParentValues {
    let family = Family(tables: schema.tables)
    guard let parent = family.parent(of: child) else { return ParentValues([]) }
    let facts = try database.first(
      """
      SELECT \(family.facts(parent, "p")) FROM \(family.tables[parent].from) p
      WHERE p.\(family.tables[parent].id) = ?1
      """, .integer(record)
    ) { $0.text(0) }
    return facts.flatMap { ParentValues(json: $0.utf8) } ?? ParentValues([])
  }

  /// Number of records of the snapshot that incremental pulls asked `by_key` for and that it did not find.
  package func notFound(_ resource: String) throws -> Int {
    try performPull("count missing records") { database, _ in
      let index = try self.index(of: resource)
      let isAsked = "(list = 0 OR list IN (SELECT l.list FROM temp.lists l WHERE l.start IS NOT NULL))"
      return try database.count(
        """
        SELECT count(*) FROM \(schema.tables[index].keys.missing)
        WHERE resource = ?1 AND \(isAsked) AND record_id > \(KeyTables.lastPlaceholder) AND \(KeyTables.isNotFound)
        """, Value(index))
    }
  }

  /// Notes missing records of a child that another list has: they have moved to another parent. A question without a
  /// value of the parent would find them. Returns their number.
  package func noteMoved(_ resource: String) throws -> Int {
    try performPull("find moved records") { database, _ in
      let index = try self.index(of: resource)
      let tables = schema.tables[index]
      guard let parent = tables.parentColumn, let ancestor = Family(tables: schema.tables).parent(of: index) else {
        return 0
      }
      let keys = tables.keys
      return try database.run(
        """
        UPDATE \(keys.missing) AS m SET answered = 3
        WHERE m.resource = ?1 AND NOT m.answered
          AND m.list IN (SELECT l.list FROM temp.lists l WHERE l.resource = ?1 AND l.start IS NULL)
          AND (m.key IN (SELECT p.key FROM \(keys.pulled) p WHERE p.resource = ?1 AND p.place >= 0)
            OR m.key IN (SELECT \(tables.key(of: "t")) FROM \(tables.from) t
              WHERE t.\(tables.id) NOT IN (SELECT o.record_id FROM \(keys.missing) o WHERE o.resource = ?1)
                AND t.\(parent) NOT IN (SELECT r.record_id FROM temp.removed_parents r WHERE r.resource = ?2)))
        """, Value(index), Value(ancestor))
    }
  }

  /// The lists of a child with records that `by_key` is asked for, with the values of their parents.
  package func listsToAskFor(_ resource: String) throws -> [WantedList] {
    try performPull("list missing records") { database, _ in
      let index = try self.index(of: resource)
      let definition = plans[index].resource
      let isAsked =
        """
        CASE WHEN l.start IS NULL THEN \(definition.removal.asks)
          ELSE \(definition.since?.asks == true) END
        """
      return try database.rows(
        """
        SELECT \(WantedList.columns) FROM temp.lists l
        WHERE l.resource = ?1 AND l.state IN \(ParentTables.State.complete) AND EXISTS (
          SELECT 1 FROM \(schema.tables[index].keys.missing) m
          WHERE m.resource = ?1 AND m.list = l.list AND \(isAsked))
        ORDER BY l.list
        """, Value(index)
      ) { WantedList($0, definition.since) }
    }
  }
}

extension PullData {
  /// Compares the pages of a list with the snapshot.
  func compare(_ scope: ListScope) throws -> ResourceComparison {
    try scope.isIncremental
      ? IncrementalComparison(self, scope: scope).run() : KeyComparison(self, scope: scope).run()
  }
}

extension [UInt8] {
  /// The last keys of a `KeyList`.
  func lastKeys(_ limit: Int, isText: Bool) -> [MissingRecord.Key] {
    var keys: [MissingRecord.Key] = []
    forEachKey(isText: isText) { keys.append(MissingRecord.Key($0)) }
    return keys.suffix(limit)
  }
}

extension MissingRecord.Key {
  /// A copy of the key.
  init(_ key: RecordKey) {
    switch key {
    case .integer(let number): self = .integer(number)
    case .text(let text): self = .text(String(decoding: text, as: UTF8.self))
    }
  }
}

extension KeyList {
  /// Appends a key of the cache, as its text.
  fileprivate mutating func append(_ key: String, isText: Bool) {
    if isText {
      Array(key.utf8).withUnsafeBufferPointer { append($0) }
    } else if let number = Int64(key) {
      append(number)
    }
  }

  fileprivate mutating func append(_ key: RecordKey) {
    switch key {
    case .integer(let number): append(number)
    case .text(let text): append(text)
    }
  }
}

extension Database {
  /// Number of records that the last whole pull has missed, by resource.
  func absentRecords() throws -> [(String, Int)] {
    try rows(
      """
      SELECT r.name, count(*) FROM main.cache_unlisted u JOIN main.cache_lists l ON l.id = u.list_id
      JOIN main.cache_resources r ON r.id = l.resource_id WHERE u.absent > 0 GROUP BY r.name
      """
    ) { ($0.text(0), $0.int(1)) }
  }
}
