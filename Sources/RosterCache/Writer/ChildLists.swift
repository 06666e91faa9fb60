internal import FoundationEssentials
internal import RosterDecode
internal import RosterModel

extension Cache {
  func data(_ database: Database, file: PageSpool) -> PullData {
    PullData(
      database: database, file: file, tables: schema.tables, plans: plans, compared: pull.compared,
      interruption: interruption, tick: tick)
  }

  func stageParents(_ resource: String, decision: RemovalDecision) throws {
    try performPull("find the parents of lists") { database, file in
      let index = try self.index(of: resource)
      let data = data(database, file: file)
      guard data.family.hasChildren(index) else { return }
      try database.transaction("BEGIN") { try data.stageParents(index, decision: decision) }
    }
  }

  @discardableResult
  func planLists(
    of resource: String, at now: Date, maxAge: Duration, permits: @Sendable (Int) -> Bool
  ) throws -> PlannedLists {
    try performPull("choose the lists to request") { database, file in
      let index = try self.index(of: resource)
      return try database.transaction("BEGIN") {
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
        try useKept(index, at: now, maxAge: maxAge, planned: &planned, in: database, file: file)
        return planned
      }
    }
  }

  /// Uses the lists that an interrupted sync has pulled (E8.1).
  private func useKept(
    _ index: Int, at now: Date, maxAge: Duration, planned: inout PlannedLists, in database: Database, file: PageSpool
  ) throws {
    if pull.isFresh { return }
    let isDated = plans[index].resource.each?.changed.isEmpty == false
    // A list that `none` has made empty in an incremental pull is kept as a whole one.
    let kept = try database.rows(
      """
      SELECT list, kept, kept_at, kept_asked IS NOT \(ParentTables.question) FROM temp.lists
      WHERE resource = ?1 AND state = \(ParentTables.State.wanted.rawValue) AND kept >= ?2
        AND kept_asked IN (asked, \(ParentTables.question))
      """, Value(index), .integer(pull.guardedBelow)
    ) { (list: $0.integer(0), place: $0.integer(1), at: $0.real(2), mustBeEmpty: $0.int(3) != 0) }
    let age = isDated ? plans[index].resource.each?.maxKeptAge ?? maxAge : maxAge
    let earliest = pull.pauses.earliest(age: age, at: now).timeIntervalSince1970
    for entry in kept where entry.at > earliest && entry.at <= now.timeIntervalSince1970 {
      tick()
      let (facts, body) = try file.page(at: entry.place)
      guard try isSameQuestion(facts, resource: index, list: entry.list, in: database) else { continue }
      guard let manifest = ListManifest(UnsafeRawBufferPointer(body)), manifest.pages == 0 || !entry.mustBeEmpty else {
        continue
      }
      try manifest.restore(index, list: entry.list, asEmpty: entry.mustBeEmpty, in: database)
      pull.confirmed += manifest.composition.same.count
      planned.resumedPages += manifest.pages
      planned.earliestReceivedAt = min(planned.earliestReceivedAt ?? facts.receivedAt, facts.receivedAt)
    }
  }

  /// True if the list's question is still the one by which an interrupted sync pulled it.
  private func isSameQuestion(
    _ facts: EntryFacts, resource index: Int, list: Int64, in database: Database
  ) throws -> Bool {
    let questions = try questions(of: plans[index].resource.name, database)
    return try questions.columns.isEmpty || facts.since?.question == questions.digest(list: list)
  }

  func wantedLists(of resource: String, after number: Int64, limit: Int) throws -> [WantedList] {
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

  func endLists(_ ends: [ListEnd]) throws {
    guard !ends.isEmpty else { return }
    try performPull("keep pulled lists") { database, file in
      var entries: [(EntryFacts, [UInt8])] = []
      for end in ends {
        let index = try self.index(of: end.resource)
        let (state, error) = end.state.stored
        let moved = end.mark.stored
        try database.run(
          """
          UPDATE temp.lists SET state = ?2, error = ?3, answered = ?4, count = ?5, mark = ?6, token = ?7, is_weak = ?8,
            start = CASE WHEN ?2 = \(ParentTables.State.empty.rawValue) THEN NULL ELSE start END
          WHERE list = ?1
          """, .integer(end.place.number), Value(state.rawValue), Value(error),
          Value(end.answered), Value(end.count.map(Int64.init)),
          Value(moved.mark), Value(moved.token), Value(end.isWeak))
        if end.isKept { entries.append(try entry(of: end, index, in: database)) }
      }
      guard !entries.isEmpty else { return }
      let places = try store(entries, in: database, file: file)
      for ((facts, _), place) in zip(entries, places) {
        let list = try ParentTables.number(of: facts.list, index(of: facts.resource), in: database)
        try ParentTables.keep(facts, list: list, place: place, in: database)
      }
    }
  }

  private func entry(of end: ListEnd, _ index: Int, in database: Database) throws -> (EntryFacts, [UInt8]) {
    let body = try ListManifest(index, list: end.place.number, end: end, in: database).bytes
    let asked = try database.first(
      "SELECT \(ParentTables.question) FROM temp.lists WHERE list = ?1", .integer(end.place.number)
    ) { $0.optionalText(0) }
    var facts = EntryFacts(
      .list, number: begun, resource: end.resource, list: end.place.path, address: (asked ?? nil) ?? "",
      receivedAt: end.receivedAt ?? Date(timeIntervalSince1970: 0))
    let questions = try questions(of: end.resource, database)
    if !questions.columns.isEmpty {
      facts.since = SinceFacts(
        question: try questions.digest(list: end.place.number), answered: end.answered ?? facts.receivedAt)
    }
    return (facts, body)
  }

  func pullAgain(_ resource: String, places: [ListPlace], asksWhole: Bool) throws {
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

  func listCounts(of resource: String) throws -> ListCounts {
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
      counts.wasEverPulled = try counts.failed > 0 && database.hasPulledList(of: resource)
      return counts
    }
  }

  func failedLists(of resource: String, limit: Int) throws -> [FailedList] {
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
  /// Largest age of a list that an interrupted sync pulled, if the parent's `changed` columns are unchanged (E8.1).
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

  /// True if a list of a child was published that is not one without a request (E4.1).
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
