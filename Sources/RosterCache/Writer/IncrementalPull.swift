internal import FoundationEssentials
internal import RosterDecode
internal import RosterModel

/// Facts of the cache for incremental pulls (I1, I11).
extension Cache {
  func sinceHistory(of resource: String) throws -> SinceHistory {
    try performPull("read the mark") { database, _ in
      let definition = plans[try index(of: resource)].resource
      guard let list = try ListID(resource, in: database) else {
        return SinceHistory(mark: nil, wholeAt: nil, isSameQuestion: false)
      }
      var history = try Self.history(of: list, Self.question(of: definition, database), in: database)
      let isSameUpstream = try database.first("SELECT upstream IS ? FROM main.cache_identity", .text(upstream)) {
        $0.int(0) != 0
      }
      if isSameUpstream != true || pull.isFresh { history.isSameQuestion = false }
      return history
    }
  }

  func wholeRequests(of resource: String) throws -> Int {
    try performPull("read the last whole pull") { database, _ in
      try database.count(
        """
        SELECT coalesce((SELECT requests FROM main.sync_resources WHERE resource = r.name AND whole > 0
          ORDER BY sync_id DESC LIMIT 1), r.pages) FROM main.resources r WHERE r.name = ?1
        """, .text(resource))
    }
  }

  /// The resources of which a sync has pulled all records and found some that incremental pulls had missed (I10.2).
  package func missed(in sync: Int64) throws -> [(resource: String, records: Int)] {
    try perform("read the cache") { database in
      try database.rows(
        "SELECT resource, missed FROM main.sync_resources WHERE sync_id = ?1 AND missed > 0 ORDER BY resource",
        .integer(sync)
      ) { ($0.text(0), $0.int(1)) }
    }
  }

  func pullIncrementally(_ resource: String, when isIncremental: Bool) {
    if isIncremental { pull.incremental.insert(resource) } else { pull.incremental.remove(resource) }
  }

  static func history(of list: ListID, _ question: Int64, in database: Database) throws -> SinceHistory {
    let found = try database.first(
      "SELECT mark, whole_at, question, token, \(FixedTables.isDueWhole("l")) FROM main.cache_lists l WHERE id = ?",
      .integer(list.id)
    ) {
      SinceHistory(
        mark: $0.optionalText(0), token: $0.optionalText(3), wholeAt: $0.optionalText(1).flatMap { Date(rfc3339: $0) },
        isSameQuestion: question != 0 && $0.integer(2) == question, isUnsettled: $0.int(4) != 0)
    }
    guard var found else { return SinceHistory(mark: nil, wholeAt: nil, isSameQuestion: false) }
    if !found.isSameQuestion { (found.mark, found.token) = (nil, nil) }
    return found
  }

  /// Digest of the question of `since`; 0 without it.
  func question(of resource: String, _ database: Database) throws -> Int64 {
    if let known = pull.questions[resource] { return known }
    let question = try Self.question(of: plans[try index(of: resource)].resource, database)
    pull.questions[resource] = question
    return question
  }

  static func question(of resource: Resource, _ database: Database) throws -> Int64 {
    guard let question = resource.sinceQuestion else { return 0 }
    let digest = try digest(database)(Array(question.utf8))
    return digest == 0 ? 1 : digest
  }

  /// Published pages whose stored records differ from the page, because an incremental pull has written or removed some
  /// of them (I11.2). They are searched for once in a pull.
  func expiredPages(of resource: String, list: Int64, _ database: Database) throws -> Set<Int64> {
    if let expired = pull.expired[list] { return expired }
    let plan = plans[try index(of: resource)]
    let expired = try findExpired(plan, list: list, in: database)
    if plan.resource.each == nil || !expired.isEmpty { pull.expired[list] = expired }
    return expired
  }

  private func findExpired(_ plan: RecordPlan, list: Int64, in database: Database) throws -> Set<Int64> {
    let overlaid = try database.rows(
      "SELECT key FROM main.cache_overlaid WHERE list_id = ?1", .integer(list)
    ) { plan.hasTextKeys ? MissingRecord.Key.text($0.text(0)) : .integer($0.integer(0)) }
    if overlaid.isEmpty { return [] }
    let keys = Set(overlaid)
    var expired: Set<Int64> = []
    let pages = try database.statement("SELECT id, keys FROM main.cache_pages WHERE list_id = ?1 AND kind <> 1")
    pages.bind(1, list)
    defer { pages.reset() }
    while try pages.step() {
      tick()
      let id = pages.row.integer(0)
      pages.row.bytes(1).forEachKey(isText: plan.hasTextKeys) { key in
        let isOverlaid =
          switch key {
          case .integer(let number): keys.contains(.integer(number))
          case .text(let text): keys.contains(.text(String(decoding: text, as: UTF8.self)))
          }
        if isOverlaid { expired.insert(id) }
      }
    }
    return expired
  }
}
