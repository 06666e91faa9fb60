package import FoundationEssentials
internal import RosterCore
internal import RosterDecode

/// The result of the choice of a child's lists.
package struct PlannedLists: Sendable, Equatable {
  /// Number of whole pulls that `limit.budget` has no room for.
  package var postponed = 0
  /// True if the last whole pull of one of these lists is older than twice `since.whole_every`.
  package var areLate = false
  /// Number of pages of the lists that an interrupted sync has pulled.
  package var resumedPages = 0
  /// Time of the oldest answer in these lists; nil without such a list.
  package var earliestReceivedAt: Date?
}

/// Whether a requested list of a child is pulled whole.
extension Cache {
  /// Notes the starts of incremental pulls.
  /// - Parameter permits: True if the budget has room for that number of requests.
  func chooseStarts(
    _ index: Int, at now: Date, permits: (Int) -> Bool, in database: Database
  ) throws -> PlannedLists {
    var planned = PlannedLists()
    guard let since = plans[index].resource.since else { return planned }
    var requests = 0
    for list in try requestedLists(index, in: database) {
      tick()
      let next = since.nextPull(
        after: list.history, now: now, isDue: try isDue(list, index: index, at: now, in: database))
      let start: SinceStart?
      switch next {
      case .whole: start = nil
      case .incremental(let from): start = from
      case .wholeOrLater(let from, let isLate):
        let needed = max(list.pages, 1) + (plans[index].resource.pages.mayTryCount ? 1 : 0)
        let isPermitted = permits(requests + needed)
        start = isPermitted ? nil : from
        if isPermitted { requests += needed } else { planned.add(isLate: isLate) }
      }
      try database.run(
        "UPDATE temp.lists SET start = ?2, mark_before = ?3 WHERE list = ?1", .integer(list.number),
        Value(start?.stored), Value(list.history.mark))
    }
    return planned
  }

  private struct RequestedList {
    var number: Int64
    var path: String
    var pages: Int
    var history: SinceHistory
  }

  private func requestedLists(_ index: Int, in database: Database) throws -> [RequestedList] {
    let name = plans[index].resource.name
    let questions = try questions(of: name, database)
    let mayContinue = try !pull.isFresh && database.isOf(upstream)
    return try database.rows(
      """
      SELECT \(SinceHistory.columns), w.list, w.path, coalesce(l.pages, 0), w.facts
      FROM temp.lists w LEFT JOIN main.cache_lists l
        ON l.resource_id = (SELECT id FROM main.cache_resources WHERE name = ?2) AND l.parent_id = w.parent
      WHERE w.resource = ?1 AND w.state = \(ParentTables.State.wanted.rawValue)
      """, Value(index), .text(name)
    ) {
      let own = questions.columns.isEmpty ? questions.common : questions.digest(facts: $0.text(8))
      var history = SinceHistory($0, of: own)
      if !mayContinue { history.isSameQuestion = false }
      return RequestedList(number: $0.integer(5), path: $0.text(6), pages: $0.int(7), history: history)
    }
  }

  private func isDue(_ list: RequestedList, index: Int, at now: Date, in database: Database) throws -> Bool {
    guard let each = plans[index].resource.each, let wholeAt = list.history.wholeAt,
      let due = each.dueTime(after: wholeAt, path: list.path, try database.pageDigest())
    else { return false }
    // A whole pull in the future means that the clock was wrong, so that the age of the list is unknown.
    return due <= now.timeIntervalSince1970 || wholeAt > now
  }
}

extension PlannedLists {
  fileprivate mutating func add(isLate: Bool) {
    postponed += 1
    areLate = areLate || isLate
  }
}

extension Each {
  /// The time of the next whole pull of a list, in seconds since 1970; nil if no time is set.
  /// - Parameter path: JSON list of the keys of its ancestors.
  func dueTime(after wholeAt: Date, path: String, _ digest: PageDigest) -> Double? {
    guard case .every(let period) = wholeEvery else { return nil }
    let spread = UInt64(bitPattern: digest(Array(path.utf8)))
    return wholeAt.timeIntervalSince1970 + dueAge(period, spread: spread)
  }
}
