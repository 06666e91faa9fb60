package import FoundationEssentials
package import RosterCore
internal import RosterDecode

extension Cache {
  func data(_ database: Database, file: Staging) -> PullData {
    PullData(
      database: database, file: file, tables: schema.tables, plans: plans, compared: pull.compared,
      interruption: interruption, tick: tick)
  }

  /// Notes the parents that this pull adds, or changes so that lists of their children depend on it, and those that the
  /// publication will remove. Call it when the resource was compared, and its missing records were asked for.
  package func stageParents(_ resource: String, decision: RemovalDecision) throws {
    try performPull("find the parents of lists") { database, file in
      let index = try self.index(of: resource)
      let data = data(database, file: file)
      guard data.family.hasChildren(index) else { return }
      try database.transaction("BEGIN") { try data.stageParents(index, decision: decision) }
    }
  }

  /// Decides which lists of a child this sync requests, and which of them it pulls whole. Lists that an
  /// interrupted sync has pulled to their end become part of the pull.
  /// - Parameters:
  ///   - maxAge: Largest age of such a list that is used although the definition has no `changed`.
  ///   - permits: True if the budget has room for that number of requests.
  /// - Returns: The whole pulls for which it has none, and the pages of lists of the interrupted sync.
  @discardableResult
  package func planLists(
    of resource: String, at now: Date, maxAge: Duration, permits: @Sendable (Int) -> Bool
  ) throws -> PlannedLists {
    try performPull("choose the lists to request") { database, file in
      let index = try self.index(of: resource)
      return try database.transaction("BEGIN") {
        try file.endEarlierPull()
        try database.run(
          """
          UPDATE temp.lists SET (state, parent, error, start, mark_before, mark, token, is_weak, is_resumed)
            = (0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0)
          WHERE resource = ?1
          """, Value(index))
        try ListPlanning(
          data(database, file: file), resource: index, upstream: upstream, now: now, isFresh: pull.isFresh
        ).run()
        var planned = try chooseStarts(index, at: now, permits: permits, in: database)
        try useKept(index, at: now, maxAge: maxAge, planned: &planned, in: database)
        return planned
      }
    }
  }

  /// Uses the lists that an interrupted sync has pulled.
  private func useKept(
    _ index: Int, at now: Date, maxAge: Duration, planned: inout PlannedLists, in database: Database
  ) throws {
    if !pull.isFresh {
      let age = plans[index].resource.each.flatMap { $0.changed.isEmpty ? nil : $0.maxKeptAge } ?? maxAge
      let earliest = pull.pauses.earliest(age: age, at: now)
      for list in try keptLists(index, in: database) where list.endedAt > earliest && list.endedAt <= now {
        tick()
        try use(list, of: index, planned: &planned, in: database)
      }
    }
    // The others get new pages, if they are requested.
    let isOpen = "SELECT list FROM temp.lists WHERE resource = ?1 AND state = \(ParentTables.State.wanted.rawValue)"
    try database.run("DELETE FROM next.same WHERE resource = ?1 AND list IN (\(isOpen))", Value(index))
    try database.run("UPDATE next.list SET asked = NULL WHERE resource = ?1 AND id IN (\(isOpen))", Value(index))
  }

  private struct KeptList {
    var number: Int64
    var endedAt: Date
    /// An incremental pull is planned, and the kept one was whole.
    var mustBeEmpty: Bool
    var question: Int64?
  }

  /// The wanted lists that an interrupted sync has pulled to their end. A list that `none` has made empty in an
  /// incremental pull is kept as a whole one.
  private func keptLists(_ index: Int, in database: Database) throws -> [KeptList] {
    let question = ParentTables.question("l")
    return try database.rows(
      """
      SELECT l.list, e.ended_at, e.asked IS NOT \(question), e.question
      FROM temp.lists l CROSS JOIN next.list e ON e.id = l.list
      WHERE l.resource = ?1 AND l.state = \(ParentTables.State.wanted.rawValue) AND NOT e.is_guarded
        AND e.asked IN (l.asked, \(question))
      """, Value(index)
    ) {
      KeptList(
        number: $0.integer(0), endedAt: $0.date(1), mustBeEmpty: $0.int(2) != 0, question: $0.optionalInteger(3))
    }
  }

  private func use(
    _ list: KeptList, of index: Int, planned: inout PlannedLists, in database: Database
  ) throws {
    let questions = try questions(of: plans[index].resource.name, database)
    guard try questions.columns.isEmpty || list.question == questions.digest(list: list.number) else { return }
    let counts = try ["page", "same"].map { table in
      try database.count(
        "SELECT count(*) FROM next.\(table) WHERE resource = ?1 AND list = ?2", Value(index), .integer(list.number))
    }
    guard counts[0] + counts[1] == 0 || !list.mustBeEmpty else { return }
    try database.run(
      "UPDATE next.page SET number = position WHERE resource = ?1 AND list = ?2", Value(index), .integer(list.number))
    try database.run(
      "INSERT OR REPLACE INTO temp.same SELECT * FROM next.same WHERE resource = ?1 AND list = ?2", Value(index),
      .integer(list.number))
    try ParentTables.resume(list.number, as: list.mustBeEmpty ? .empty : .pulled, in: database)
    pull.confirmed += counts[1]
    planned.resumedPages += counts[0] + counts[1]
    planned.earliestReceivedAt = min(planned.earliestReceivedAt ?? list.endedAt, list.endedAt)
  }

  /// Lists to request, in the order of their numbers.
  package func wantedLists(of resource: String, after number: Int64, limit: Int) throws -> [WantedList] {
    try performPull("read the lists to request") { database, _ in
      let index = try self.index(of: resource)
      return try database.rows(
        """
        SELECT \(WantedList.columns), (SELECT k.whole_at FROM main.cache_resources c CROSS JOIN main.cache_lists k
          ON k.resource_id = c.id AND k.parent_id = l.parent WHERE c.name = ?4) FROM temp.lists l
        WHERE l.resource = ?1 AND l.state = \(ParentTables.State.wanted.rawValue) AND l.list > ?2
        ORDER BY l.list LIMIT ?3
        """, Value(index), .integer(number), Value(limit), .text(resource)
      ) {
        var list = WantedList($0, plans[index].resource.since)
        list.wholeAt = $0.optionalText(6).flatMap { Date(rfc3339: $0) }
        return list
      }
    }
  }

  /// Ends lists. The pages of a complete one are kept until they are published.
  package func endLists(_ ends: [ListEnd]) throws {
    guard !ends.isEmpty else { return }
    try performPull("keep pulled lists") { database, file in
      try database.transaction("BEGIN") {
        try file.stores(for: begun)
        for end in ends {
          let index = try self.index(of: end.resource)
          let (state, error) = end.state.stored
          let moved = end.mark.stored
          try database.run(
            """
            UPDATE temp.lists SET state = ?2, error = ?3, answered = ?4, count = ?5, mark = ?6, token = ?7,
              is_weak = ?8, start = CASE WHEN ?2 = \(ParentTables.State.empty.rawValue) THEN NULL ELSE start END
            WHERE list = ?1
            """, .integer(end.place.number), Value(state.rawValue), Value(error),
            Value(end.answered), Value(end.count.map(Int64.init)),
            Value(moved.mark), Value(moved.token), Value(end.isWeak))
          if end.isKept { try keep(end, index, in: database) }
        }
      }
    }
  }

  /// Notes that the pages of the list are those of a complete pull. Others, which an earlier pull has left, go.
  private func keep(_ end: ListEnd, _ index: Int, in database: Database) throws {
    let list = Value.integer(end.place.number)
    try StagingTables.add(end.place, of: index, in: database)
    let isLeft = "resource = ?1 AND list = ?2 AND number IS NULL AND address IS NOT NULL"
    try database.run(
      "DELETE FROM next.body WHERE place IN (SELECT place FROM next.page WHERE \(isLeft))", Value(index), list)
    try database.run("DELETE FROM next.page WHERE \(isLeft)", Value(index), list)
    try database.run("DELETE FROM next.same WHERE resource = ?1 AND list = ?2", Value(index), list)
    try database.run(
      "INSERT INTO next.same SELECT * FROM temp.same WHERE resource = ?1 AND list = ?2", Value(index), list)
    let questions = try questions(of: end.resource, database)
    let question = try questions.columns.isEmpty ? nil : questions.digest(list: end.place.number)
    try database.run(
      """
      UPDATE next.list SET is_guarded = 0, ended_at = ?2, question = ?3,
        (asked, answered, count, mark, token) = (
          SELECT \(ParentTables.question("l")), l.answered, l.count, l.mark, l.token FROM temp.lists l WHERE l.list = ?1)
      WHERE id = ?1
      """, list, Value(end.receivedAt ?? Date(timeIntervalSince1970: 0)), Value(question))
  }

  /// Requests lists again, because their pages did not fit together.
  /// - Parameter asksWhole: True if upstream refused to continue their incremental pulls instead.
  package func pullAgain(_ resource: String, places: [ListPlace], asksWhole: Bool = false) throws {
    for place in places { try discard(resource, in: place, keepsPublished: asksWhole) }
    try performPull("request lists again") { database, _ in
      for place in places {
        try database.run(
          """
          UPDATE temp.lists SET state = \(ParentTables.State.wanted.rawValue), is_resumed = 0,
            start = CASE WHEN ?2 THEN NULL ELSE start END
          WHERE list = ?1
          """, .integer(place.number), Value(asksWhole))
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
        case .wanted: (counts.requested, counts.waiting) = (counts.requested + number, counts.waiting + number)
        case .pulled: (counts.requested, counts.obtained) = (counts.requested + number, counts.obtained + number)
        case .empty:
          let answered = try database.count(
            "SELECT count(*) FROM temp.lists WHERE resource = ?1 AND state = ?2 AND answered IS NOT NULL",
            Value(index), Value(ParentTables.State.empty.rawValue))
          counts.empty += number - answered
          (counts.requested, counts.obtained) = (counts.requested + answered, counts.obtained + answered)
        case .failed, .vanished:
          (counts.requested, counts.failed) = (counts.requested + number, counts.failed + number)
          if state == .vanished { counts.notFound = number }
        case .known, nil: break
        }
      }
      counts.vanished = try database.count(
        "SELECT count(*) FROM (\(failed)) WHERE has_vanished", Value(index), .text(resource))
      if counts.failed > 0 {
        counts.wasEverPulled = try database.hasPulledList(of: resource)
        counts.published =
          try database.first(
            """
            SELECT count(*) FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
            WHERE c.name = ?1
            """, .text(resource)
          ) { $0.int(0) } ?? 0
      }
      return counts
    }
  }

  /// The first failed lists of this pull, and the first vanished ones.
  package func failedLists(of resource: String, limit: Int) throws -> [FailedList] {
    try performPull("list failed lists") { database, _ in
      let index = try index(of: resource)
      let parent = plans[index].resource.each?.parent ?? ""
      return try [false, true].flatMap { hasVanished in
        try database.rows(
          """
          SELECT \(Family.keys(inPath: "f.path")), f.error FROM (\(failed)) f WHERE f.has_vanished = ?3 LIMIT ?4
          """, Value(index), .text(resource), Value(hasVanished), Value(limit)
        ) {
          FailedList(
            of: resource, parent: parent, keys: $0.text(0), hasVanished: hasVanished, reason: $0.optionalText(1) ?? "")
        }
      }
    }
  }

  /// Parameters: ?1 the resource, ?2 its name.
  private var failed: String {
    """
    SELECT l.path AS path, l.error AS error, \(Family.hasVanished("l")) AS has_vanished
    FROM temp.lists l WHERE l.resource = ?1 AND l.state IN (4, 5) ORDER BY l.list
    """
  }
}

extension Each {
  /// Largest age of a list that an interrupted sync pulled, if the parent's `changed` columns are unchanged.
  fileprivate var maxKeptAge: Duration {
    switch wholeEvery {
    case .every(let period): min(period, .seconds(86_400))
    case .inEachSync, .never: .seconds(86_400)
    }
  }
}

extension Database {
  /// True if the resource has a table. A resource that was added to the configuration has none before its first
  /// publication.
  func hasTable(of resource: String) throws -> Bool {
    try count("SELECT 1 FROM main.resources WHERE name = ?1", .text(resource)) == 1
  }

  /// True if the last published pages are of this upstream.
  func isOf(_ upstream: String) throws -> Bool {
    try count("SELECT upstream IS ?1 FROM main.cache_identity", .text(upstream)) == 1
  }

  /// True if the resource was published.
  func hasSnapshot(of resource: String) throws -> Bool {
    try count("SELECT snapshot IS NOT NULL FROM main.cache_resources WHERE name = ?1", .text(resource)) == 1
  }

  /// True if a list of a child was published that is not one without a request.
  func hasPulledList(of child: String) throws -> Bool {
    try count(
      """
      SELECT 1 FROM main.cache_resources c CROSS JOIN main.cache_lists l ON l.resource_id = c.id
      WHERE c.name = ?1 AND substr(l.asked, 1, 7) <> '"empty"' LIMIT 1
      """, .text(child)) == 1
  }
}

extension WantedList {
  /// The columns of `lists`, which the statement calls `l`, that `init` reads.
  static let columns = "l.list, l.path, l.parent, l.facts, l.start, l.mark_before"

  init(_ row: Row, _ since: Since?) {
    place = ListPlace(number: row.integer(0), path: row.text(1), parent: row.integer(2))
    values = ParentValues(json: row.text(3).utf8) ?? ParentValues([])
    start = since?.start(row.optionalText(4))
    mark = row.optionalText(5).flatMap { since?.mark($0) }
  }
}

extension ListEnd {
  /// True if the file of pulled pages keeps the end of the list: an answer says which pages it has.
  fileprivate var isKept: Bool {
    switch state {
    case .pulled: !isWeak
    case .empty: answered != nil
    case .failed, .vanished: false
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

extension Since.MarkMove {
  /// The mark and the delta token that replace the stored ones; nil if they stay.
  var stored: (mark: String?, token: String?) {
    switch self {
    case .moves(let mark): (mark.text, nil)
    case .token(let token): (nil, token)
    case .stays, .unreadable: (nil, nil)
    }
  }
}
