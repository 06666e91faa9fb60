internal import FoundationEssentials
package import RosterCore
internal import RosterDecode

extension SinceHistory {
  /// The columns of the list `l` that `init` reads.
  static let columns = "l.mark, l.token, l.whole_at, l.question, \(FixedTables.isDueWhole("l"))"

  /// A mark or token of another question is of no use.
  init(_ row: Row, of question: Int64) {
    let isSame = question != 0 && row.integer(3) == question
    self.init(
      mark: isSame ? row.optionalText(0) : nil, token: isSame ? row.optionalText(1) : nil,
      wholeAt: row.optionalText(2).flatMap { Date(rfc3339: $0) }, isSameQuestion: isSame, isUnsettled: row.int(4) != 0)
  }
}

/// Facts of the cache for incremental pulls.
extension Cache {
  /// Facts of earlier pulls of a resource with `since`.
  package func sinceHistory(of resource: String) throws -> SinceHistory {
    try performPull("read the mark") { database, _ in
      guard let list = try ListID(resource, in: database) else {
        return SinceHistory(mark: nil, wholeAt: nil, isSameQuestion: false)
      }
      var history = try Self.history(of: list, questions(of: resource, database).common, in: database)
      if try pull.isFresh || !database.isOf(upstream) { history.isSameQuestion = false }
      return history
    }
  }

  /// Number of requests of the last whole pull of a resource. Its pages replace a row that `history` has ended.
  package func wholeRequests(of resource: String) throws -> Int {
    try performPull("read the last whole pull") { database, _ in
      try database.count(
        """
        SELECT coalesce((SELECT requests FROM main.sync_resources WHERE resource = r.name AND whole > 0
          ORDER BY sync_id DESC LIMIT 1), r.pages) FROM main.resources r WHERE r.name = ?1
        """, .text(resource))
    }
  }

  /// The resources of which a sync has pulled all records and found some that incremental pulls had missed.
  package func missed(in sync: Int64) throws -> [(resource: String, records: Int)] {
    try perform("read the cache") { database in
      try database.rows(
        "SELECT resource, missed FROM main.sync_resources WHERE sync_id = ?1 AND missed > 0 ORDER BY resource",
        .integer(sync)
      ) { ($0.text(0), $0.int(1)) }
    }
  }

  /// Says whether this sync pulls only the records of a resource that changed.
  package func pullIncrementally(_ resource: String, when isIncremental: Bool) {
    if isIncremental { pull.incremental.insert(resource) } else { pull.incremental.remove(resource) }
  }

  static func history(of list: ListID, _ question: Int64, in database: Database) throws -> SinceHistory {
    try database.first("SELECT \(SinceHistory.columns) FROM main.cache_lists l WHERE id = ?", .integer(list.id)) {
      SinceHistory($0, of: question)
    } ?? SinceHistory(mark: nil, wholeAt: nil, isSameQuestion: false)
  }

  /// Published pages whose stored records differ from the page, because an incremental pull has written or removed some
  /// of them. They are searched for once in a pull.
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
    try database.forEach(
      "SELECT id, keys FROM main.cache_pages WHERE list_id = ?1 AND kind <> 1", .integer(list)
    ) { page in
      tick()
      page.bytes(1).forEachKey(isText: plan.hasTextKeys) { key in
        if keys.contains(MissingRecord.Key(key)) { expired.insert(page.integer(0)) }
      }
    }
    return expired
  }
}

extension Cache {
  func questions(of resource: String, _ database: Database) throws -> ListQuestions {
    if let known = pull.questions[resource] { return known }
    let questions = try ListQuestions(
      try index(of: resource), of: Family(tables: schema.tables), in: database)
    pull.questions[resource] = questions
    return questions
  }

  func keptQuestion(of resource: String, list: Int64, _ database: Database) throws -> Int64 {
    try questions(of: resource, database).keptDigest(
      list: list, changed: plans[try index(of: resource)].resource.each?.changed ?? [])
  }
}
