package import FoundationEssentials
internal import RosterDecode
internal import RosterModel

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
