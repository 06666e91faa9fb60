internal import RosterCore
internal import RosterDecode

/// Compares the pages of an incremental pull with the snapshot. It finds the winning record of each key, and the
/// records of the snapshot that `where` skips now. Its cost depends on the received records only.
struct IncrementalComparison {
  /// Kind of a received record.
  private enum Kind: Int64 {
    case storable, rejected, skipped
    /// A record on a page that is unchanged.
    case kept

    init(_ kind: RecordKind) {
      self =
        switch kind {
        case .storable: .storable
        case .rejected: .rejected
        case .skipped: .skipped
        }
    }
  }

  private let data: PullData
  private let database: Database
  private let tables: ResourceTables
  private let plan: RecordPlan
  private let scope: ListScope
  private let keys: KeyTables
  private let find: Statement
  /// The kinds of records after which an earlier reject of their key counts no longer.
  static let settling = [Kind.storable, .skipped].map { "\($0.rawValue)" }.joined(separator: ", ")

  private let insert: Statement
  private let insertKept: Statement

  init(_ data: PullData, scope: ListScope) throws {
    (self.data, database, self.scope) = (data, data.database, scope)
    (tables, plan) = (data.tables[scope.index], data.plans[scope.index])
    keys = tables.keys
    find = try database.statement("SELECT place FROM \(keys.received) WHERE resource = ?1 AND list = ?2 AND key = ?3")
    insert = try database.statement(
      """
      INSERT INTO \(keys.received) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (resource, list, key)
      DO UPDATE SET mark = excluded.mark, place = excluded.place, kind = excluded.kind WHERE excluded.mark >= mark
      """)
    insertKept = try database.statement("INSERT OR IGNORE INTO \(keys.received) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
  }

  func run() throws -> ResourceComparison {
    var found = ResourceComparison(resource: tables.resource.name)
    found.isIncremental = true
    found.isAsked = plan.resource.since?.asks == true
    for table in keys.compared + ["temp.missed_pages"] {
      try database.run("DELETE FROM \(table) WHERE resource = ?1 AND list = ?2", in: scope)
    }
    found.snapshot = try database.count(
      "SELECT records FROM main.resources WHERE name = ?", .text(tables.resource.name))
    try countKept(&found)
    let places = try data.places(of: scope)
    found.pages += places.count
    for place in places {
      try data.onPage()
      try receive(data.file.page(at: place), found: &found)
    }
    if !places.isEmpty || found.rejected > 0 { try receiveKept(&found) }
    try settle(&found)
    return found
  }

  /// Sums of unchanged pages, and the older pages that are not part of this pull.
  private func countKept(_ found: inout ResourceComparison) throws {
    let all =
      try database.first(
        """
        SELECT count(*), coalesce(sum(p.records), 0), coalesce(sum(p.rejects), 0), coalesce(sum(p.unknown), 0),
          coalesce(sum(p.skipped), 0)
        FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page WHERE s.resource = ?1 AND s.list = ?2
        """, in: scope
      ) { row in (0..<5).map { row.int($0) } } ?? [0, 0, 0, 0, 0]
    (found.pages, found.received, found.rejected) = (all[0], all[1], all[2])
    (found.rejectedUnknown, found.skipped) = (all[3], all[4])
    guard scope.list != nil else { return }
    try database.run(
      """
      INSERT INTO temp.missed_pages SELECT p.id, ?1, ?2 FROM main.cache_pages p
      WHERE p.list_id = ?3 AND p.address >= ?5 AND p.address < ?6
        AND NOT EXISTS (SELECT 1 FROM temp.same s WHERE s.resource = ?1 AND s.list = ?2 AND s.page = p.id)
      """, in: scope, .text(Resource.incrementalPrefix), .text("since!"))
  }

  private func receive(_ facts: StagedPage, found: inout ResourceComparison) throws {
    found.received += facts.records
    found.rejected += facts.rejects
    found.rejectedUnknown += facts.rejectsOfUnknownKey
    found.skipped += facts.skipped
    let (kinds, marks) = (facts.since?.kinds ?? [], facts.since?.values ?? [])
    try facts.forEachKey(isText: plan.hasTextKeys, in: kinds) { index, kind, place, key in
      let mark = marks.isEmpty ? PageScan.noMark : marks[index]
      try receive(key, kind: Kind(kind), mark: mark, place: place, by: insert, found: &found)
    }
  }

  /// Adds the keys of unchanged pages that no transferred page has, so that a key that has moved to another page is
  /// found. The keys of rejected records are added too, because a rejected record is no parent. A stored record
  /// wins against a rejected or skipped one. The marks of unchanged pages are not known. Therefore a key that a
  /// transferred page has too makes the sync repeat the pull without unchanged pages.
  private func receiveKept(_ found: inout ResourceComparison) throws {
    let pages = try database.rows(
      """
      SELECT s.number, p.keys, p.rejected_keys, p.skipped_keys FROM temp.same s
      CROSS JOIN main.cache_pages p ON p.id = s.page WHERE s.resource = ?1 AND s.list = ?2
      """, in: scope
    ) { row in (place: KeyPlace.start(of: row.int(0)), keys: (1...3).map { row.bytes($0) }) }
    let kept = Set(pages.map(\.place))
    for (column, kind) in [Kind.kept, .rejected, .skipped].enumerated() {
      for page in pages {
        try data.onPage()
        try page.keys[column].forEachKey(isText: plan.hasTextKeys) { key in
          let earlier = try receive(
            key, kind: kind, mark: PageScan.noMark, place: page.place, by: insertKept, found: &found)
          if let earlier, !kept.contains(earlier) { found.keptRepeats += 1 }
        }
      }
    }
  }

  /// - Returns: The start of the page with the winning record of the key so far; nil if the key is new.
  @discardableResult
  private func receive(
    _ key: RecordKey, kind: Kind, mark: Int64, place: Int64, by insert: Statement, found: inout ResourceComparison
  ) throws -> Int64? {
    find.bind(key, in: scope)
    let earlier = try find.step() ? KeyPlace.start(ofPageWith: find.row.integer(0)) : nil
    find.reset()
    if let earlier {
      found.repeats += 1
      if earlier != KeyPlace.start(ofPageWith: place) { found.acrossPages += 1 }
    }
    insert.bind(key, in: scope)
    insert.bind(4, mark)
    insert.bind(5, place)
    insert.bind(6, kind.rawValue)
    try insert.run()
    return earlier
  }

  /// Marks each received key for a question to upstream. A key that the cache does not have gets a number
  /// in place of a record id (`KeyTables.lastPlaceholder`).
  private func ask(_ found: inout ResourceComparison) throws {
    try database.run(
      """
      INSERT OR IGNORE INTO \(keys.missing)
      SELECT ?1, ?2, g.key, coalesce(t.\(tables.id), \(Int64.min) + row_number() OVER (ORDER BY g.key)), 0, 0
      FROM \(keys.received) g LEFT JOIN \(tables.from) t ON \(tables.hasKey("t", "g.key"))
      WHERE g.resource = ?1 AND g.list = ?2 AND g.kind = \(Kind.storable.rawValue)
      """, in: scope)
    found.asked = try countMissing()
  }

  private func settle(_ found: inout ResourceComparison) throws {
    if found.isAsked { return try ask(&found) }
    let storable = Kind.storable.rawValue
    try database.run(
      """
      INSERT INTO \(keys.pulled) SELECT resource, list, key, CASE WHEN kind = \(storable) THEN place ELSE -1 END
      FROM \(keys.received) WHERE resource = ?1 AND list = ?2
      """, in: scope)
    found.distinct = try database.count(
      "SELECT coalesce(sum(kind = \(storable)), 0) FROM \(keys.received) WHERE resource = ?1 AND list = ?2", in: scope)
    try database.run(
      """
      INSERT OR IGNORE INTO \(keys.missing) SELECT ?1, ?2, g.key, t.\(tables.id), 0, 0
      FROM \(keys.received) g CROSS JOIN \(tables.from) t ON \(tables.hasKey("t", "g.key"))
      WHERE g.resource = ?1 AND g.list = ?2 AND g.kind > 1 AND g.kind < 3
      """, in: scope)
    found.missing = try countMissing()
  }

  private func countMissing() throws -> Int {
    try database.count("SELECT count(*) FROM \(keys.missing) WHERE resource = ?1 AND list = ?2", in: scope)
  }
}

extension StagedPage {
  /// Calls `body` for each key of the page in the order of the records, with the index and the place of its record.
  /// The place of a record that is not storable is the one of the storable record before it.
  /// - Parameter kinds: `SinceFacts.kinds`
  func forEachKey(
    isText: Bool, in kinds: [UInt8],
    _ body: (_ index: Int, _ kind: RecordKind, _ place: Int64, _ key: RecordKey) throws -> Void
  ) rethrows {
    try keys.withUnsafeBufferPointer { storable in
      try rejectedKeys.withUnsafeBufferPointer { rejected in
        try skippedKeys.withUnsafeBufferPointer { skipped in
          var cursors = [storable, rejected, skipped].map { KeyCursor($0, isText: isText) }
          var (position, place) = (KeyPlace(page: number), KeyPlace.start(of: number))
          for (index, kind) in kinds.enumerated() {
            guard let kind = RecordKind(rawValue: kind), let key = cursors[Int(kind.rawValue)].next() else { return }
            if kind == .storable { place = position.next() }
            try body(index, kind, place, key)
          }
        }
      }
    }
  }
}
