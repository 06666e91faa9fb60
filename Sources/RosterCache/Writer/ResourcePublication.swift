internal import RosterCore
internal import RosterDecode

/// Publishes the pulled pages of one resource.
struct ResourcePublication {
  /// True if readers see a difference.
  private(set) var isNew = false

  let publication: SnapshotPublication
  let database: Database
  let tables: ResourceTables
  let plan: RecordPlan
  let index: Int
  let decision: RemovalDecision
  /// The list at hand, and its comparison.
  private(set) var scope: ListScope
  private(set) var found: ResourceComparison
  private(set) var list: ListID
  private let isFirst: Bool
  private let before: Int
  private let pagesBefore: Int
  /// The mark of the previous pull of the list at hand, if the same question set it.
  private(set) var mark: Mark?
  /// The change of that mark.
  private(set) var move = Since.MarkMove.stays
  /// True if a reject of unknown key keeps a record of the list at hand that an incremental pull would remove.
  /// The mark stays then, and the next pull transfers the pages again.
  private(set) var isHeldBack = false
  /// Digest of the question of the list at hand; 0 if nothing depends on it.
  private(set) var question: Int64
  private let questions: ListQuestions
  /// True if the list at hand is empty without a pull, or by the answer to an incremental one.
  private(set) var isEmpty = false
  /// True if a change of the list at hand counts as missed, because no column of `changed` shows it.
  private(set) var isUntold = false
  /// Records of a whole pull that no incremental pull would have requested.
  var missed = 0
  /// The same over all lists of a child; nil without a whole pull after an earlier one.
  private var missedInLists: Int64?
  let records: RecordWriter
  /// Rejected records of answers.
  private var rejected = 0
  /// The position in `rejects` of the next reject without a page.
  private var nextPosition = 0
  /// The change of the number of pages of a child.
  var pageChange = 0
  var counts = ListCounts()

  init(_ publication: SnapshotPublication, at index: Int, decision: RemovalDecision) throws {
    self.publication = publication
    self.index = index
    self.decision = decision
    database = publication.data.database
    tables = publication.data.tables[index]
    plan = publication.data.plans[index]
    let name = plan.resource.name
    found = publication.pull.compared[name] ?? ResourceComparison(resource: name)
    let state = try database.first(
      """
      SELECT c.snapshot IS NULL, r.records, r.pages, c.id FROM main.cache_resources c
      JOIN main.resources r ON r.name = c.name WHERE c.name = ?1
      """, .text(name)
    ) { (isFirst: $0.int(0) != 0, records: $0.int(1), pages: $0.int(2), id: $0.integer(3)) }
    guard let state else { throw SQLiteError.damaged("cache_resources lacks \(name)") }
    scope = try publication.data.scope(index, isIncremental: found.isIncremental)
    guard let list = plan.resource.each == nil ? scope.list : ListID(id: 0, resource: state.id) else {
      throw SQLiteError.damaged("cache_lists lacks \(name)")
    }
    (self.list, isFirst, before, pagesBefore) = (list, state.isFirst, state.records, state.pages)
    questions = try ListQuestions(index, of: publication.family, in: database)
    question = questions.common
    move = decision.mark
    records = try RecordWriter(
      database, tables, sync: publication.sync, at: publication.at, isFirst: state.isFirst,
      reserved: publication.family.hasChildren(index) ? ReservedIDs(database) : nil,
      owners: try WindowOwners(of: index, in: publication.data))
    mark = try storedMark()
    isHeldBack = try holdsBack()
    if isHeldBack { move = .stays }
  }

  private func holdsBack() throws -> Bool {
    guard found.isIncremental, found.rejectedUnknown > 0 else { return false }
    return try database.count(
      """
      SELECT EXISTS (SELECT 1 FROM \(tables.keys.missing)
        WHERE resource = ?1 AND list = ?2 AND record_id > \(KeyTables.lastPlaceholder)
        AND NOT \(KeyTables.isFound))
      """, in: scope) == 1
  }

  private func storedMark() throws -> Mark? {
    if question == 0 { return nil }
    return try Cache.history(of: list, question, in: database).mark.flatMap { plan.resource.since?.mark($0) }
  }

  mutating func write() throws {
    try database.run("DELETE FROM temp.rejected WHERE resource = ?", Value(index))
    let hasNew = plan.resource.each == nil ? try writeList() : try writeLists()
    isNew = isFirst || hasNew || records.added + records.changed + records.removed > 0
  }

  /// Returns true if readers see a difference besides the records.
  private mutating func writeList() throws -> Bool {
    nextPosition = try firstPosition()
    let haveRejectsMoved = try writePages()
    try writeAnswers()
    if plan.resource.each == nil { try records.finish() }
    try removeMissing()
    let areRejectsNew = try writeRejects()
    if found.isIncremental {
      try forgetAbsence()
    } else {
      try noteUnlisted()
      try writeTotals()
      try endOverlay()
    }
    try writeMark()
    return haveRejectsMoved || areRejectsNew
  }

  /// Writes the lists of a child: those of removed parents go, complete ones are published, and the others stay.
  private mutating func writeLists() throws -> Bool {
    let all = found
    defer { found = all }
    try removeWithParents()
    var hasNew = false
    if tables.isOfWindows {
      try publication.data.forEachCompleteWindow(of: index) { if try writeList($0) { hasNew = true } }
    } else {
      try publication.data.forEachComplete(of: index) { if try writeList($0) { hasNew = true } }
    }
    try records.finish()
    try noteFailedLists()
    try countLists()
    return hasNew
  }

  /// Returns true if readers see a difference besides the records.
  private mutating func writeList(_ complete: CompleteList) throws -> Bool {
    try begin(complete)
    let (pages, balance) = (try pagesOfList(), records.balance)
    let hasNew = try writeList()
    if !found.isIncremental { pageChange += found.pages - pages }
    if let missedNow { missedInLists = (missedInLists ?? 0) + missedNow }
    try settle(complete, change: records.balance - balance)
    return hasNew
  }

  private mutating func begin(_ complete: CompleteList) throws {
    isUntold = try isUntold(complete)
    scope = complete.scope
    list = try scope.list ?? ListID(adding: plan.resource.name, parent: scope.parent, database)
    scope.list = list
    found = complete.found
    question = try questions.digest(list: scope.number)
    isEmpty = complete.isEmpty
    (mark, missed) = (try storedMark(), 0)
    isHeldBack = try holdsBack()
    // The next pull must ask again for keys that could not be asked for.
    let isUnasked = found.isAsked && !decision.isSettled
    move = isUnasked || isHeldBack ? .stays : complete.move(plan.resource.since)
  }

  private func pagesOfList() throws -> Int {
    try database.count("SELECT pages FROM main.cache_lists WHERE id = ?3", in: scope)
  }

  /// Adds the counts to the sync's row, and writes the resource's own row.
  func sum(into record: inout SyncRecord) throws {
    let after = before + records.added - records.removed
    let rejected = found.rejected + rejected
    record.pages += found.pages
    record.records += after
    record.added += records.added
    record.changed += records.changed
    record.removed += records.removed
    record.rejected += rejected
    record.skipped += found.skipped
    record.lists += counts.requested
    record.listsFailed += counts.failed
    let isChild = plan.resource.each != nil
    try database.run(
      """
      INSERT OR REPLACE INTO main.sync_resources VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
      """, .integer(publication.sync), .text(plan.resource.name), Value(found.pages), Value(after),
      Value(records.added),
      Value(records.changed), Value(records.removed), Value(rejected), Value(found.skipped),
      Value(isChild ? counts.whole : found.isIncremental ? 0 : 1), Value(decision.requests),
      Value(isChild ? missedInLists : missedNow), Value(isChild ? counts.requested : 1), Value(counts.failed))
    let pages = isChild ? pagesBefore + pageChange : found.isIncremental ? pagesBefore : found.pages
    try database.run(
      """
      UPDATE main.resources SET records = ?2, pages = ?3, proof = ?4, definition = ?5, parent = ?6 WHERE name = ?1
        AND (records IS NOT ?2 OR pages IS NOT ?3 OR proof IS NOT ?4 OR definition IS NOT ?5 OR parent IS NOT ?6)
      """, .text(plan.resource.name), Value(after), Value(pages), .text(try proof().rawValue),
      .text(plan.resource.definition), Value(plan.resource.each?.parent))
  }

  /// The weakest proof of the resource's lists. They differ only if some are pulled incrementally.
  private func proof() throws -> RemovalDecision.Proof {
    guard plan.resource.each != nil, plan.resource.since != nil else { return decision.proof }
    let found = try database.rows(
      "SELECT DISTINCT proof FROM main.cache_lists WHERE resource_id = ?1 AND proof IS NOT NULL",
      .integer(list.resource)
    ) { RemovalDecision.Proof(rawValue: $0.text(0)) }
    return RemovalDecision.Proof.allCases.last { found.contains($0) } ?? decision.proof
  }

  // MARK: Pages

  /// Returns true if rejects of unchanged pages were renumbered or removed.
  private mutating func writePages() throws -> Bool {
    let pages = try PageRows(database, scope, list)
    try writeTransferred(pages)
    try pages.dropMissed()
    return try pages.renew(isIncremental: found.isIncremental)
  }

  private mutating func writeTransferred(_ pages: PageRows) throws {
    guard var pulled = try pulled(.pages) else { return }
    let isNoted = found.isIncremental || isUntold || mark != nil
    try planIndex(of: pulled.pagesLeft)
    while let facts = try pulled.nextPage() {
      var isOwnedByLater = false
      while let step = try pulled.next() {
        switch step {
        case .record:
          if found.isAsked { continue }
          let outcome = try records.write(&pulled.decoder, of: scope)
          if case .ownedByLater = outcome { isOwnedByLater = true }
          if isNoted { try note(outcome, of: &pulled.decoder) }
        case .rejected: try reject(pulled.decoder.reject, page: pulled.number)
        }
      }
      if isHeldBack { continue }
      // The next pull must ask for its keys again if one of them could not be asked for. The same holds if a
      // record may change again within the same time stamp.
      guard !found.isAsked || (decision.isSettled && isSettled(facts)) else { continue }
      // A page with a record of a later window must be written again when that window has lost it.
      try pages.write(at: pulled.at, number: pulled.number, isDoubted: isOwnedByLater)
    }
  }

  /// Decides from a few of this number of pages whether the index of words is kept up to date record by record.
  private func planIndex(of pages: Int) throws {
    // The list must have enough records for the question to matter.
    guard pages > 1, 2 * found.distinct > before, !found.isAsked, records.keepsIndex,
      var sample = try pulled(.pages)
    else { return }
    let count = max(1, min(pages / 8, 32))
    sample.sample(count)
    var writes = 0
    while try sample.nextPage() != nil {
      while let step = try sample.next() {
        if case .record = step { writes += try records.indexWrites(for: &sample.decoder, of: scope) }
      }
    }
    records.planIndex(writes: writes * pages / count, records: before)
  }

  private func isSettled(_ page: StagedPage) -> Bool {
    guard let since = plan.resource.since, let facts = page.since else { return true }
    return since.isSettled(highest: facts.highest.flatMap { since.mark($0) }, answered: facts.answered)
  }

  private func pulled(_ part: PulledRecords.Part) throws -> PulledRecords? {
    try PulledRecords(part, of: scope, found, in: publication.data)
  }

  /// Keeps a reject for `rejects`. A record of an incremental pull or of an answer has page 0 and the next position. An
  /// incremental answer that calls itself partial has a negative page.
  private mutating func reject(_ reject: RecordReject, page: Int) throws {
    var (page, position) = (page, reject.position)
    if position < 0 {
      if found.isIncremental { page = -page }
    } else if found.isIncremental || page == 0 {
      (page, position) = (0, nextPosition)
      nextPosition += 1
    }
    let key: Value =
      switch reject.key {
      case .integer(let number): .integer(number)
      case .text(let text): .text(String(decoding: text, as: UTF8.self))
      case nil: .null
      }
    try database.run(
      "INSERT OR REPLACE INTO temp.rejected VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", Value(index),
      .integer(scope.number), Value(page), Value(position), key, .text(reject.reason),
      .text(String(decoding: reject.document, as: UTF8.self)))
  }

  /// An incremental pull adds its rejects to those of the pulls before it.
  private func firstPosition() throws -> Int {
    guard found.isIncremental else { return 0 }
    return try database.count(
      "SELECT coalesce(max(position), -1) + 1 FROM main.rejects WHERE resource = ?5 AND parent_id = ?4 AND page = 0",
      in: scope, .text(plan.resource.name))
  }

  // MARK: Missing records

  private mutating func writeAnswers() throws {
    guard var pulled = try pulled(.answers) else { return }
    while try pulled.nextPage() != nil {
      while let step = try pulled.next() {
        switch step {
        case .record:
          let outcome = try records.write(&pulled.decoder, of: scope)
          if found.isIncremental { try note(outcome, of: &pulled.decoder) }
        case .rejected:
          try reject(pulled.decoder.reject, page: 0)
          rejected += 1
        }
      }
    }
  }

  private mutating func removeMissing() throws {
    guard let query = decision.removalQuery(for: plan, comparison: found) else { return }
    if found.isIncremental { try overlayRemoved() }
    try database.forEach(query, in: scope) { removed in
      let id = removed.integer(0)
      try records.remove(id)
      try database.run(
        "DELETE FROM main.cache_unlisted WHERE list_id = ?1 AND record_id = ?2", .integer(list.id), .integer(id))
    }
  }

  /// Notes the records that no page lists, and the number of pulls in which upstream did not have them. Correct rows
  /// are not written again.
  private func noteUnlisted() throws {
    guard !isFirst else { return }
    try forgetListed()
    try noteMissing()
    try noteRefused()
  }

  private func forgetListed() throws {
    try database.run(
      """
      DELETE FROM main.cache_unlisted AS u WHERE list_id = ?3 AND EXISTS (SELECT 1 FROM \(tables.from) t
        CROSS JOIN \(tables.keys.pulled) c ON c.resource = ?1 AND c.list = ?2 AND c.key = \(tables.key(of: "t"))
        WHERE t.\(tables.id) = u.record_id)
      """, in: scope)
  }

  /// Counts in how many pulls a missing record was absent. One that `by_key` returned is not absent.
  private func noteMissing() throws {
    try database.run(
      """
      INSERT INTO main.cache_unlisted
      SELECT ?3, m.record_id, CASE WHEN m.answered THEN 0 ELSE \(decision.absence(for: plan)) END
      FROM \(tables.keys.missing) m CROSS JOIN \(tables.from) t ON t.\(tables.id) = m.record_id
      WHERE m.resource = ?1 AND m.list = ?2
      ON CONFLICT (list_id, record_id) DO UPDATE SET absent = excluded.absent WHERE absent <> excluded.absent
      """, in: scope)
  }

  /// A rejected record is not absent: upstream has it.
  private func noteRefused() throws {
    try database.run(
      """
      INSERT OR IGNORE INTO main.cache_unlisted SELECT ?3, t.\(tables.id), 0 FROM \(tables.keys.rejected) r
      CROSS JOIN \(tables.keys.superseded) g ON g.resource = ?1 AND g.list = ?2 AND g.key = r.key
      CROSS JOIN \(tables.from) t ON \(tables.hasKey("t", "r.key")) WHERE r.resource = ?1 AND r.list = ?2
      """, in: scope)
    try database.run(
      """
      UPDATE main.cache_unlisted AS u SET absent = 0 WHERE list_id = ?3 AND absent <> 0 AND EXISTS (
        SELECT 1 FROM \(tables.from) t
        CROSS JOIN \(tables.keys.rejected) r ON r.resource = ?1 AND r.list = ?2 AND r.key = \(tables.key(of: "t"))
        WHERE t.\(tables.id) = u.record_id)
      """, in: scope)
  }

  // MARK: Rejects and totals

  /// Keeps the rows of equal rejects, and writes the others. Returns true if a row was written or removed.
  private func writeRejects() throws -> Bool {
    let same =
      found.isIncremental
      ? "s.reason = m.reason AND s.document = m.document"
      : "s.page = m.page AND s.position = m.position AND s.key IS m.key AND s.reason = m.reason AND s.document = m.document"
    let isReplaced =
      found.isIncremental
      ? isOutdated : "page NOT IN (SELECT number FROM temp.same WHERE resource = ?1 AND list = ?2)"
    let ofList = "m.resource = ?5 AND m.parent_id = ?4"
    let pulled = "FROM temp.rejected s WHERE s.resource = ?1 AND s.list = ?2"
    let isSentAgain =
      found.isIncremental
      ? "(m.reason, m.document) IN (SELECT s.reason, s.document \(pulled))" : "EXISTS (SELECT 1 \(pulled) AND \(same))"
    if found.isIncremental { try doubtPages(where: "\(ofList) AND m.page > 0 AND (\(isReplaced))") }
    let gone = try database.run(
      "DELETE FROM main.rejects AS m WHERE \(ofList) AND (\(isReplaced)) AND NOT \(isSentAgain)",
      in: scope, .text(plan.resource.name))
    let new = try database.run(
      """
      INSERT INTO main.rejects SELECT ?6, ?5, ?4, s.page, s.position, s.key, s.reason, s.document FROM temp.rejected s
      WHERE s.resource = ?1 AND s.list = ?2
        AND NOT EXISTS (SELECT 1 FROM main.rejects m WHERE \(ofList) AND \(same))
      """, in: scope, .text(plan.resource.name), .integer(publication.sync))
    return gone + new > 0
  }

  /// The next whole pull reads the pages of these rejects again: an unchanged page would bring them back.
  private func doubtPages(where condition: String) throws {
    try database.run(
      """
      UPDATE main.cache_pages AS p SET digest = 0, etag = NULL, last_modified = NULL
      WHERE p.list_id = ?3 AND p.rejects > 0 AND p.kind = 0
        AND EXISTS (SELECT 1 FROM main.rejects m WHERE \(condition) AND m.page = p.number)
      """, in: scope, .text(plan.resource.name))
  }

  /// A condition for a row `m` of `rejects` that this incremental pull replaces. The pull has a newer record of that
  /// key, the row is about an answer, or its key is not known. All others stay, because no later pull of changes
  /// transfers them again.
  private var isOutdated: String {
    let keys = tables.keys
    let key = keys.isText ? "m.key" : "CAST(m.key AS INTEGER)"
    let isUnknown = """
      m.page = 0 AND m.key IS NULL AND NOT EXISTS (
        SELECT 1 FROM temp.same u CROSS JOIN main.cache_pages p ON p.id = u.page
        WHERE u.resource = ?1 AND u.list = ?2 AND p.unknown > 0)
      """
    return """
      m.page < 0 OR \(isUnknown) OR m.key IS NOT NULL AND (
        EXISTS (SELECT 1 FROM \(keys.received) g WHERE g.resource = ?1 AND g.list = ?2 AND g.key = \(key)
          AND g.kind IN (\(IncrementalComparison.settling)))
        OR m.page = 0 AND m.key IN (SELECT n.key FROM temp.rejected n WHERE n.resource = ?1 AND n.list = ?2))
      """
  }

  /// Writes the totals with which the next comparison begins.
  private func writeTotals() throws {
    let storable = found.distinct + found.repeats
    let values = [found.pages, storable, found.rejected, found.rejectedUnknown, found.skipped, found.repeats]
    let columns = ["pages", "storable", "rejects", "unknown", "skipped", "repeats"]
    let updates = columns.enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: ", ")
    let differ = columns.enumerated().map { "\($1) <> ?\($0 + 2)" }.joined(separator: " OR ")
    let statement = try database.statement(
      """
      UPDATE main.cache_lists SET \(updates) WHERE id = ?1 AND (\(differ))
      """)
    try statement.run([.integer(self.list.id)] + values.map { Value($0) })
    // If missing records could not be removed, the list in the cache is still the old one.
    let isOfThisList = isFirst || !decision.keepsMissing || !found.listChanged
    let list = isOfThisList ? tables.listed : nil
    try database.run(
      """
      UPDATE main.cache_resources SET snapshot = coalesce(snapshot, ?2), list = coalesce(?3, list)
      WHERE id = ?1 AND (snapshot IS NULL OR list <> ?3)
      """, .integer(self.list.resource), .integer(publication.sync), Value(list))
  }
}

/// The rows of `cache_pages`, which represent the published records of each page.
private struct PageRows {
  private let database: Database
  private let scope: ListScope
  private let list: ListID
  private let upsert: Statement

  init(_ database: Database, _ scope: ListScope, _ list: ListID) throws {
    self.database = database
    self.scope = scope
    self.list = list
    let updated = ["number", "kind"] + StagedPage.published
    let updates = updated.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    // The body may be the same and not the total in a header, or the keys that a parent's value skips.
    let differ = updated.map { "\($0) IS NOT excluded.\($0)" }
    let doubted = ["etag": "NULL", "last_modified": "NULL", "digest": "0"]
    let values = StagedPage.published.map { name in doubted[name].map { "iif(?4, \($0), \(name))" } ?? name }
    // OR FAIL: SQLite would otherwise copy each page of the file that the statement writes.
    upsert = try database.statement(
      """
      INSERT OR FAIL INTO main.cache_pages(list_id, address, \(updated.joined(separator: ", ")))
      SELECT ?1, address, ?2, address >= ?5 AND address < ?6, \(values.joined(separator: ", "))
      FROM next.page WHERE place = ?3
      ON CONFLICT (list_id, address) DO UPDATE SET \(updates) WHERE \(differ.joined(separator: " OR "))
      """)
  }

  /// - Parameter isDoubted: True if the page must be transferred and read again when it is next due.
  func write(at place: Int64, number: Int, isDoubted: Bool) throws {
    try upsert.run([
      .integer(list.id), Value(number), .integer(place), Value(isDoubted), .text(Resource.incrementalPrefix),
      .text("since!"),
    ])
  }

  /// Deletes published pages that are not part of this pull.
  func dropMissed() throws {
    try database.run(
      """
      DELETE FROM main.cache_pages AS p
      WHERE id IN (SELECT m.page FROM temp.missed_pages m WHERE m.resource = ?1 AND m.list = ?2)
        AND NOT EXISTS (SELECT 1 FROM temp.pulled f
          WHERE f.resource = ?1 AND f.list = ?2 AND f.address = p.address AND f.number IS NOT NULL)
      """, in: scope)
  }

  /// Updates unchanged pages with a new validator or another number. A page without a digest must be read again.
  /// Returns true if rejects were moved or removed.
  func renew(isIncremental: Bool) throws -> Bool {
    try database.run(
      """
      UPDATE main.cache_pages AS p SET etag = s.etag, last_modified = s.last_modified FROM temp.same s
      WHERE s.page = p.id AND s.resource = ?1 AND s.list = ?2 AND p.digest <> 0
        AND (s.etag IS NOT NULL OR s.last_modified IS NOT NULL)
        AND (s.etag IS NOT p.etag OR s.last_modified IS NOT p.last_modified)
      """, in: scope)
    let moved = try database.rows(
      """
      SELECT p.id, p.number, s.number FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page
      WHERE s.resource = ?1 AND s.list = ?2 AND s.number <> p.number
      """, in: scope
    ) { (page: $0.integer(0), from: $0.int(1), to: $0.int(2)) }
    return try move(moved, hasRejects: !isIncremental)
  }

  private static let ofList =
    "resource = (SELECT name FROM main.cache_resources WHERE id = ?1) AND parent_id = ?3"

  /// Larger than the number of any page.
  private static let beyond = 1 << 40

  /// Gives pages and their rejects other numbers. Returns true if rejects were moved or removed.
  private func move(_ pages: [(page: Int64, from: Int, to: Int)], hasRejects: Bool) throws -> Bool {
    var moved: [Int] = []
    for (page, from, to) in pages {
      try database.run("UPDATE main.cache_pages SET number = ?2 WHERE id = ?1", .integer(page), Value(to))
      // The numbers are large at first, so that the rejects of two pages are not mixed.
      if hasRejects, try moveRejects(from: from, to: to + Self.beyond) > 0 { moved.append(to) }
    }
    guard hasRejects else { return false }
    // Rejects that still have one of the new numbers belong to removed pages.
    var removed = 0
    for (_, _, to) in pages {
      removed += try database.run(
        "DELETE FROM main.rejects WHERE \(Self.ofList) AND page = ?2", .integer(list.resource), Value(to),
        .integer(scope.parent))
    }
    for to in moved { try moveRejects(from: to + Self.beyond, to: to) }
    return removed > 0 || !moved.isEmpty
  }

  @discardableResult
  private func moveRejects(from: Int, to: Int) throws -> Int {
    try database.run(
      "UPDATE main.rejects SET page = ?4 WHERE \(Self.ofList) AND page = ?2", .integer(list.resource), Value(from),
      .integer(scope.parent), Value(to))
  }
}
