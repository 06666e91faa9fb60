internal import RosterCore
internal import RosterDecode

/// Compares the keys of one list, without reading a record. It reads only the published keys of pages that have
/// changed or were removed. The keys of any other page are known to be unchanged.
///
/// The snapshot's records are the keys of its pages, each on one page, and those of `cache_unlisted`.
struct KeyComparison {
  private let data: PullData
  private let database: Database
  private let tables: ResourceTables
  private let plan: RecordPlan
  private let scope: ListScope
  private let keys: KeyTables
  private let pulled: Statement

  init(_ data: PullData, scope: ListScope) throws {
    (self.data, database, self.scope) = (data, data.database, scope)
    (tables, plan) = (data.tables[scope.index], data.plans[scope.index])
    keys = tables.keys
    pulled = try database.statement(
      """
      INSERT INTO \(keys.pulled) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (resource, list, key) DO UPDATE SET place = excluded.place
      """)
  }

  func run() throws -> ResourceComparison {
    let skips = try isPlain()
    let found = try compare(skipsRelisted: skips)
    // The publication needs the place of each key if one occurs more than once.
    guard skips, found.repeats > 0 || found.passedRepeats > 0 else { return found }
    return try compare(skipsRelisted: false)
  }

  /// True if each record of the snapshot is on exactly one published page. Then a transferred page that lists the same
  /// keys as the published page of its address can be compared like an unchanged page.
  private func isPlain() throws -> Bool {
    let plain = try database.count(
      "SELECT count(*) FROM main.cache_lists WHERE id = ?3 AND repeats = 0 AND rejects = 0 AND skipped = 0", in: scope)
    return try plain > 0
      && ["cache_unlisted", "cache_overlaid"].allSatisfy { table in
        try database.first("SELECT 1 FROM main.\(table) WHERE list_id = ?3 LIMIT 1", in: scope) { _ in true } == nil
      }
  }

  /// - Parameter skipsRelisted: Reads no key of a page that lists the same keys as before.
  private func compare(skipsRelisted: Bool) throws -> ResourceComparison {
    var found = ResourceComparison(resource: tables.resource.name)
    for table in keys.compared + ["temp.missed_pages"] {
      try database.run("DELETE FROM \(table) WHERE resource = ?1 AND list = ?2", in: scope)
    }
    let kept = try keptPages(&found)
    try countRecords(&found)
    let isAlone = kept == 0 && found.snapshot == 0
    let places = try data.places(of: scope)
    guard !places.isEmpty || found.snapshot > 0 || kept > 0 else { return found }
    let isTold = isAlone ? try countAscending(places, found: &found) : false
    let other = isTold ? 0 : try fill(places, kept: kept, skipsRelisted: skipsRelisted, found: &found)
    found.pages += places.count
    if isAlone { return found }
    if kept > 0 || other < places.count, other > 0 {
      try settleOverlap(&found)
      try settlePassed(&found)
    }
    try findMissing(&found)
    return found
  }

  /// Sums the published pages that are part of this pull, and returns their number. Notes the other published pages,
  /// and the keys of those whose address is not part of this pull either.
  private func keptPages(_ found: inout ResourceComparison) throws -> Int {
    guard scope.list != nil else { return 0 }
    let kept = try count("temp.same")
    let totals = try database.first(
      "SELECT pages, storable, rejects, unknown, skipped FROM main.cache_lists WHERE id = ?3", in: scope
    ) { row in (0..<5).map { row.int($0) } }
    guard var totals else { return 0 }
    if kept < totals[0] { try subtractMissed(from: &totals) }
    found.pages = totals[0]
    found.distinct = totals[1]
    found.rejected = totals[2]
    found.rejectedUnknown = totals[3]
    found.skipped = totals[4]
    return kept
  }

  private func subtractMissed(from totals: inout [Int]) throws {
    try database.run(
      """
      INSERT INTO temp.missed_pages SELECT p.id, ?1, ?2 FROM main.cache_pages p
      WHERE p.list_id = ?3 AND p.kind <> 1
        AND NOT EXISTS (SELECT 1 FROM temp.same s WHERE s.resource = ?1 AND s.list = ?2 AND s.page = p.id)
      """, in: scope)
    try database.forEach(
      """
      SELECT 1, p.storable, p.rejects, p.unknown, p.skipped, p.keys, EXISTS (SELECT 1 FROM temp.pulled f
        WHERE f.resource = ?1 AND f.list = ?2 AND f.address = p.address AND f.number IS NOT NULL)
      FROM temp.missed_pages m CROSS JOIN main.cache_pages p ON p.id = m.page
      WHERE m.resource = ?1 AND m.list = ?2
      """, in: scope
    ) { page in
      try data.onPage()
      for column in 0..<5 { totals[column] -= page.int(Int32(column)) }
      if page.int(6) == 0 { _ = try note(page.bytes(5), in: keys.superseded) }
    }
  }

  private func countRecords(_ found: inout ResourceComparison) throws {
    guard let list = scope.list else { return }
    let listed = try database.first("SELECT list FROM main.cache_resources WHERE id = ?", .integer(list.resource)) {
      $0.optionalText(0)
    }
    found.listChanged = (listed ?? nil).map { !$0.utf8.elementsEqual(tables.listed.utf8) } ?? false
    found.snapshot = try database.count(
      """
      SELECT coalesce(l.records, r.records) FROM main.cache_lists l JOIN main.resources r ON r.name = ?5
      WHERE l.id = ?3
      """, in: scope, .text(tables.resource.name))
  }

  private func add(_ facts: StagedPage, to found: inout ResourceComparison) {
    found.rejected += facts.rejects
    found.rejectedUnknown += facts.rejectsOfUnknownKey
    found.skipped += facts.skipped
  }

  /// Counts keys that ascend from page to page, which are different without a further check. Only possible without a
  /// snapshot. Returns false if the keys do not ascend, or if some records are not stored.
  private func countAscending(_ places: [Int64], found: inout ResourceComparison) throws -> Bool {
    guard !plan.hasTextKeys, !tables.resource.hasMovingRecords else { return false }
    var counted = found
    var last = Int64.min
    var ascends = true
    for place in places {
      try data.onPage()
      let facts = try data.file.page(at: place)
      facts.keys.forEachKey(isText: false) { key in
        guard case .integer(let number) = key else { return }
        if number <= last { ascends = false }
        last = number
      }
      guard ascends, facts.rejectedKeys.isEmpty, facts.skippedKeys.isEmpty else { return false }
      counted.distinct += facts.storable
      add(facts, to: &counted)
    }
    found = counted
    return true
  }

  /// Notes the keys of the transferred pages, and of the published pages of the same addresses. Returns the number of
  /// pages whose keys are noted.
  private func fill(
    _ places: [Int64], kept: Int, skipsRelisted: Bool, found: inout ResourceComparison
  ) throws -> Int {
    let published = try database.statement(
      "SELECT keys FROM main.cache_pages WHERE list_id = ?3 AND address = ?5 AND kind <> 1")
    published.bind(scope)
    var (other, storable, excluded) = (0, 0, 0)
    for place in places {
      try data.onPage()
      let facts = try data.file.page(at: place)
      add(facts, to: &found)
      let before = scope.list == nil ? nil : try keys(of: facts.address ?? "", published)
      let isRelisted = before == facts.keys && facts.rejects == 0 && facts.skipped == 0
      if isRelisted, skipsRelisted {
        found.distinct += facts.storable
        continue
      }
      other += 1
      storable += facts.storable
      var position = KeyPlace(page: facts.number)
      try facts.keys.forEachKey(isText: plan.hasTextKeys) { key in
        try insert(key, place: position.next())
      }
      // The keys of a page that lists the same records again are only compared with those of unchanged pages.
      if let before, !isRelisted || kept > 0 { _ = try note(before, in: keys.superseded) }
      _ = try note(facts.rejectedKeys, in: keys.rejected)
      excluded += try note(facts.rejectedKeys, in: keys.excluded) + note(facts.skippedKeys, in: keys.excluded)
      if isChain, facts.skipped > 0 { try supersede(by: facts) }
    }
    let distinct = try database.count(
      "SELECT count(*) FROM \(keys.pulled) WHERE resource = ?1 AND list = ?2 AND place >= 0", in: scope)
    found.distinct += distinct
    found.repeats += storable - distinct
    if excluded > 0 { found.passedRepeats += try excluded - count(keys.excluded) + countExcludedAndPulled() }
    return other
  }

  /// The keys of the published page of an address; nil if no page of that address is published.
  private func keys(of address: String, _ published: Statement) throws -> [UInt8]? {
    published.bind(5, address)
    defer { published.reset() }
    return try published.step() ? published.row.bytes(0) : nil
  }

  /// In a chain the last occurrence of a key counts, also if `where` skips it. A delta feed may list an item first, and
  /// call it deleted later. Such a key has the place -1.
  private func supersede(by page: StagedPage) throws {
    let mark = try database.statement(
      "UPDATE \(keys.pulled) SET place = -1 WHERE resource = ?1 AND list = ?2 AND key = ?3 AND place BETWEEN 0 AND ?4")
    func supersede(_ key: RecordKey, upTo place: Int64) throws {
      mark.bind(key, in: scope)
      mark.bind(4, place)
      try mark.run()
    }
    if let kinds = page.since?.kinds, !kinds.isEmpty {
      return try page.forEachKey(isText: plan.hasTextKeys, in: kinds) { _, kind, place, key in
        if kind == .skipped { try supersede(key, upTo: place) }
      }
    }
    try page.skippedKeys.forEachKey(isText: plan.hasTextKeys) {
      try supersede($0, upTo: KeyPlace.start(of: page.number))
    }
  }

  private var isChain: Bool { !tables.resource.pages.style.kind.isPositional }

  /// Returns the number of keys in the list.
  private func note(_ list: [UInt8], in table: String) throws -> Int {
    let insert = try database.statement("INSERT OR IGNORE INTO \(table) VALUES (?1, ?2, ?3)")
    var count = 0
    try list.forEachKey(isText: plan.hasTextKeys) { key in
      insert.bind(key, in: scope)
      try insert.run()
      count += 1
    }
    return count
  }

  private func count(_ table: String) throws -> Int {
    try database.count("SELECT count(*) FROM \(table) WHERE resource = ?1 AND list = ?2", in: scope)
  }

  private func countExcludedAndPulled() throws -> Int {
    try database.count(
      """
      SELECT count(*) FROM \(keys.excluded) e WHERE e.resource = ?1 AND e.list = ?2
        AND EXISTS (SELECT 1 FROM \(keys.pulled) p
          WHERE p.resource = ?1 AND p.list = ?2 AND p.key = e.key AND p.place >= 0)
      """, in: scope)
  }

  private func insert(_ key: RecordKey, place: Int64) throws {
    pulled.bind(key, in: scope)
    pulled.bind(4, place)
    try pulled.run()
  }

  /// Counts keys that both a transferred page and an unchanged page list.
  private func settleOverlap(_ found: inout ResourceComparison) throws {
    let overlap = try countKept(in: keys.pulled)
    guard overlap > 0 else { return }
    found.distinct -= overlap
    found.repeats += overlap
    try placeKept()
  }

  /// Number of keys of a table that unchanged pages list too.
  private func countKept(in table: String) throws -> Int {
    try database.count(
      """
      SELECT count(*) FROM \(table) c CROSS JOIN \(tables.from) t ON \(tables.hasKey("t", "c.key"))
      WHERE c.resource = ?1 AND c.list = ?2 AND \(isKept("c.key"))
      """, in: scope)
  }

  /// Counts keys of rejected or skipped records on a transferred page that an unchanged page lists too, and the other
  /// way round.
  private func settlePassed(_ found: inout ResourceComparison) throws {
    found.passedRepeats += try countKept(in: keys.excluded)
    let isHere = try database.statement(
      """
      SELECT 1 FROM \(keys.pulled) WHERE resource = ?1 AND list = ?2 AND key = ?3
      UNION ALL SELECT 1 FROM \(keys.excluded) WHERE resource = ?1 AND list = ?2 AND key = ?3
      """)
    try database.forEach(
      """
      SELECT p.rejected_keys, p.skipped_keys FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page
      WHERE s.resource = ?1 AND s.list = ?2 AND (p.rejects > 0 OR p.skipped > 0)
      """, in: scope
    ) { page in
      try data.onPage()
      try (page.bytes(0) + page.bytes(1)).forEachKey(isText: plan.hasTextKeys) { key in
        isHere.bind(key, in: scope)
        defer { isHere.reset() }
        if try isHere.step() { found.passedRepeats += 1 }
      }
    }
  }

  /// Corrects the places of such keys, so that the publication knows which occurrence is the last.
  private func placeKept() throws {
    let later = try database.statement(
      """
      UPDATE \(keys.pulled) SET place = ?4
      WHERE resource = ?1 AND list = ?2 AND key = ?3 AND place BETWEEN 0 AND ?4
      """)
    try database.forEach(
      """
      SELECT s.number, p.keys FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page
      WHERE s.resource = ?1 AND s.list = ?2
      """, in: scope
    ) { page in
      try data.onPage()
      var position = KeyPlace(page: page.int(0))
      try page.bytes(1).forEachKey(isText: plan.hasTextKeys) { key in
        later.bind(key, in: scope)
        later.bind(4, position.next())
        try later.run()
      }
    }
  }

  private func findMissing(_ found: inout ResourceComparison) throws {
    try refuseKept()
    if found.rejected > 0 { try acceptStored() }
    let isListed = ["\(keys.pulled) s WHERE s.place >= 0", "\(keys.rejected) s WHERE true"].map {
      "EXISTS (SELECT 1 FROM \($0) AND s.resource = ?1 AND s.list = ?2 AND s.key = \(tables.key(of: "t")))"
    }.joined(separator: " OR ")
    try database.run(
      """
      INSERT OR IGNORE INTO \(keys.missing) SELECT ?1, ?2, \(tables.key(of: "t")), t.\(tables.id), 0, 0
      FROM \(keys.superseded) g CROSS JOIN \(tables.from) t ON \(tables.hasKey("t", "g.key"))
      WHERE g.resource = ?1 AND g.list = ?2 AND NOT (\(isListed))
      """, in: scope)
    try database.run(
      """
      INSERT OR IGNORE INTO \(keys.missing) SELECT ?1, ?2, \(tables.key(of: "t")), u.record_id, u.absent, 0
      FROM main.cache_unlisted u CROSS JOIN \(tables.from) t ON t.\(tables.id) = u.record_id
      WHERE u.list_id = ?3 AND NOT (\(isListed))
      """, in: scope)
    let counts = try database.first(
      "SELECT count(*), coalesce(sum(absent > 0), 0) FROM \(keys.missing) WHERE resource = ?1 AND list = ?2", in: scope
    ) { ($0.int(0), $0.int(1)) }
    (found.missing, found.missingTwice) = counts ?? (0, 0)
  }

  /// Adds the keys of rejected records on unchanged pages.
  private func refuseKept() throws {
    try database.forEach(
      """
      SELECT p.rejected_keys FROM main.cache_pages p
      CROSS JOIN temp.same s ON s.resource = ?1 AND s.list = ?2 AND s.page = p.id
      WHERE p.list_id = ?3 AND p.rejects > 0
      """, in: scope
    ) { page in
      try data.onPage()
      _ = try note(page.bytes(0), in: keys.rejected)
    }
  }

  /// Removes keys of rejected records from the table if the pull also has a storable record of that key. The rejected
  /// records do not count then.
  private func acceptStored() throws {
    try database.run(
      """
      DELETE FROM \(keys.rejected) AS r WHERE r.resource = ?1 AND r.list = ?2 AND (
        EXISTS (SELECT 1 FROM \(keys.pulled) c WHERE c.resource = ?1 AND c.list = ?2 AND c.key = r.key)
        OR EXISTS (SELECT 1 FROM \(tables.from) t WHERE \(tables.hasKey("t", "r.key")) AND \(isKept("r.key"))))
      """, in: scope)
  }

  /// A condition: an unchanged page lists the record of the snapshot in row `t`, which has that key.
  private func isKept(_ key: String) -> String {
    """
    NOT EXISTS (SELECT 1 FROM \(keys.superseded) g WHERE g.resource = ?1 AND g.list = ?2 AND g.key = \(key))
      AND NOT EXISTS (SELECT 1 FROM main.cache_unlisted u WHERE u.list_id = ?3 AND u.record_id = t.\(tables.id))
    """
  }
}

/// The place of a storable record in a pull: first the page, then the position among its storable records. A page has
/// fewer than 2^20 of them.
struct KeyPlace {
  private var value: Int64

  static let pageBits: Int64 = 20

  init(page: Int) { value = Self.start(of: page) }

  /// A value below the place of each record of the page.
  static func start(of page: Int) -> Int64 { Int64(page) << pageBits }

  /// `start(of:)` for the page of the record with that place.
  static func start(ofPageWith place: Int64) -> Int64 { (place >> pageBits) << pageBits }

  mutating func next() -> Int64 {
    value += 1
    return value
  }
}
