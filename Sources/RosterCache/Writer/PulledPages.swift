internal import FoundationEssentials
internal import Logging
internal import RosterDecode
package import RosterModel

/// Stores the pages of a pull: their bodies in a file beside the cache, and the composition of the pull in temporary
/// tables. If either is lost, the only cost is another pull.
extension Cache {
  /// `<path>.pulled`. `roster` and `roster.db` each have their own file.
  nonisolated var pulledPath: String { path + ".pulled" }

  /// Makes digests of bodies, to compare a body with the one of a `CachedPage` before it is scanned.
  package var digest: PageDigest {
    get throws { try perform("read the cache") { try $0.pageDigest() } }
  }

  func known(
    _ resource: String, in place: ListPlace = ListPlace(), addresses: [String]
  ) throws -> [String: CachedPage] {
    if pull.isFresh { return [:] }
    return try performPull("read what is known of pages") { database, file in
      let index = try self.index(of: resource)
      let published = try publishedPages(of: resource, place, in: database)
      let isWhole = try !isIncremental(index, list: place.number, in: database)
      let expired = try isWhole ? published.map { try expiredPages(of: resource, list: $0, database) } ?? [] : []
      let question = try keptQuestion(of: resource, list: place.number, database)
      // One transaction for all, because each single look-up would lock the file and release it again.
      return try database.transaction("BEGIN") {
        let entries = try hasPulled(database) ? database.statement(CachedPage.selectEntries) : nil
        entries?.bind(1, Int64(index))
        entries?.bind(2, place.number)
        var found: [String: CachedPage] = [:]
        found.reserveCapacity(addresses.count)
        let look = try database.statement("\(CachedPage.select) WHERE list_id = ?1 AND address = ?2")
        for address in addresses {
          entries?.bind(3, address)
          defer { entries?.reset() }
          let entry = try entries?.step() == true ? entries?.row : nil
          if let place = entry?.optionalInteger(0) {
            let facts = try file.facts(at: place)
            // The page was read by another question, and may lack what this question looks for.
            guard facts.since?.question ?? 0 == question else { continue }
            found[address] = CachedPage(facts, at: place, guardedBelow: pull.guardedBelow)
          } else if let published {
            look.bind(1, published)
            look.bind(2, address)
            defer { look.reset() }
            if try look.step(), !expired.contains(look.row.integer(0)) {
              found[address] = CachedPage(row: look.row, address)
            }
          }
          if let entry, let noted = entry.optionalInteger(1),
            try file.facts(at: noted).since?.question ?? 0 == question
          {
            found[address]?.came(again: entry, guardedBelow: pull.guardedBelow)
          }
          if pull.ignoresValidators(of: resource) { found[address]?.validator = Validator() }
        }
        return found
      }
    }
  }

  /// True if only the changed records of the list are pulled.
  private func isIncremental(_ index: Int, list: Int64, in database: Database) throws -> Bool {
    let resource = plans[index].resource
    guard resource.each != nil else { return pull.incremental.contains(resource.name) }
    guard resource.since != nil else { return false }
    return try database.count("SELECT start IS NOT NULL FROM temp.lists WHERE list = ?1", .integer(list)) == 1
  }

  func append(_ pages: [PageBody]) throws {
    guard !pages.isEmpty else { return }
    for page in pages where page.place.number == 0 { pull.compared[page.resource] = nil }
    try performPull("keep pulled pages") { database, file in
      let places = try store(pages.map { (try facts($0, in: database), $0.body) }, in: database, file: file)
      try database.transaction("BEGIN") {
        for (page, place) in zip(pages, places) {
          let index = try self.index(of: page.resource)
          try PulledTables.insert(
            index, list: page.place.number, address: page.address, number: page.number, place: place, in: database)
          // The page differs from the published one.
          if pull.confirmed > 0 { try unconfirm(index, place: page.place, address: page.address, in: database) }
        }
      }
    }
  }

  private func facts(_ page: PageBody, in database: Database) throws -> EntryFacts {
    var facts = EntryFacts(page)
    let question = try keptQuestion(of: page.resource, list: page.place.number, database)
    if question != 0 { facts.since = SinceFacts(page, question: question) }
    if pull.ignoresValidators(of: page.resource) { facts.validator = Validator() }
    return facts
  }

  func confirm(_ resource: String, pages: [ConfirmedPage], in place: ListPlace = ListPlace()) throws {
    guard !pages.isEmpty else { return }
    var pages = pages
    if pull.ignoresValidators(of: resource) { for index in pages.indices { pages[index].validator = Validator() } }
    if place.number == 0 { pull.compared[resource] = nil }
    let list = place.number
    try performPull("keep pulled pages") { database, file in
      let index = try self.index(of: resource)
      let seen = try noteSeen(resource, place: place, pages: pages, in: database, file: file)
      let keep = try database.statement(
        "UPDATE temp.pulled SET number = ?4 WHERE resource = ?1 AND list = ?2 AND address = ?3")
      let same = try database.statement("INSERT OR REPLACE INTO temp.same VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
      try database.transaction("BEGIN") {
        for (facts, place) in seen { try PulledTables.see(facts, index: index, list: list, place: place, in: database) }
        for confirmed in pages {
          guard confirmed.page.state == .published else {
            try keep.run([Value(index), .integer(list), .text(confirmed.page.address), Value(confirmed.number)])
            continue
          }
          try same.run([
            .integer(confirmed.page.place), Value(index), .integer(list), Value(confirmed.number),
            Value(confirmed.validator.etag), Value(confirmed.validator.lastModified), Value(confirmed.confirmedAt),
            Value(confirmed.answered),
          ])
          pull.confirmed += 1
        }
      }
    }
  }

  /// Notes pages that were transferred although they are unchanged, or that have another validator now, and kept pages
  /// that upstream confirmed. The next sync does not transfer them again (P4).
  private func noteSeen(
    _ resource: String, place: ListPlace, pages: [ConfirmedPage], in database: Database, file: PageSpool
  ) throws -> [(EntryFacts, Int64)] {
    let question = try keptQuestion(of: resource, list: place.number, database)
    let seen = pages.compactMap { confirmed -> EntryFacts? in
      let validator = confirmed.validator.isEmpty ? confirmed.page.validator : confirmed.validator
      let kept = confirmed.page.state == .kept ? confirmed.confirmedAt : nil
      let changed = validator == confirmed.page.validator ? nil : Date.distantPast
      guard let at = confirmed.receivedAt ?? kept ?? changed else { return nil }
      var facts = EntryFacts(
        .again, number: begun, resource: resource, list: place.path, address: confirmed.page.address,
        validator: validator, receivedAt: at)
      if question != 0 { facts.since = SinceFacts(question: question, answered: confirmed.answered ?? at) }
      return facts
    }
    return seen.isEmpty ? [] : Array(zip(seen, try store(seen.map { ($0, []) }, in: database, file: file)))
  }

  /// Notes the published pages that upstream confirmed in this pull (304), before a time without requests. The next
  /// sync does not request them again (P4.2). The lists of children are kept as wholes (E8.1).
  func noteConfirmed(in database: Database, file: PageSpool) throws {
    for index in plans.indices {
      var last: Int64 = 0
      while let page = try noteConfirmed(of: index, after: last, in: database, file: file) { last = page }
    }
  }

  /// Notes one portion of these pages, in the order of their ids: memory does not grow with the number of pages (P1.8).
  /// - Returns: The last page of the portion; nil if no page follows.
  private func noteConfirmed(
    of index: Int, after page: Int64, in database: Database, file: PageSpool
  ) throws -> Int64? {
    let name = plans[index].resource.name
    let question = try questions(of: name, database).common
    let pages = try database.rows(
      """
      SELECT s.page, p.address, s.confirmed, s.answered, s.etag, s.last_modified, p.etag, p.last_modified
      FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page
      WHERE s.resource = ?1 AND s.list = 0 AND s.page > ?2 AND s.confirmed IS NOT NULL ORDER BY s.page LIMIT 512
      """, Value(index), .integer(page)
    ) { row in
      let sent = Validator(etag: row.optionalText(4), lastModified: row.optionalText(5))
      let known = Validator(etag: row.optionalText(6), lastModified: row.optionalText(7))
      var facts = EntryFacts(
        .again, number: begun, resource: name, address: row.text(1), validator: sent.isEmpty ? known : sent,
        receivedAt: row.date(2))
      if question != 0, let answered = row.optionalDate(3) {
        facts.since = SinceFacts(question: question, answered: answered)
      }
      return (page: row.integer(0), facts: facts)
    }
    guard let last = pages.last else { return nil }
    let places = try store(pages.map { ($0.facts, []) }, in: database, file: file)
    try database.transaction("BEGIN") {
      for (page, place) in zip(pages, places) {
        try PulledTables.see(page.facts, index: index, list: 0, place: place, in: database)
      }
    }
    return last.page
  }

  func discard(_ resource: String, in place: ListPlace? = nil, keepsPublished: Bool = false) throws {
    pull.compared[resource] = nil
    if !keepsPublished {
      if let place { pull.forgottenLists.insert(place.number) } else { pull.forgotten.insert(resource) }
    }
    try performPull("discard pulled pages") { database, file in
      let index = try self.index(of: resource)
      try PulledTables.drop(index, list: place?.number, tables: ["pulled", "same", "seen"], in: database)
      // The file has no other page, so it can be emptied.
      if try hasPulled(database) {
        let entry = EntryFacts(.dropped, number: begun, resource: resource, list: place?.path ?? "")
        _ = try file.append([(entry, [])])
      } else {
        try file.empty()
        try writeOwner(database, file: file)
        try noteLies(database, file: file)
      }
    }
  }

  func distrust(_ resource: String) throws {
    pull.lying.insert(resource)
    try discard(resource)
    try performPull("note that validators lied") { database, file in
      if try hasPulled(database) { try noteLies(database, file: file) }
    }
  }

  private func noteLies(_ database: Database, file: PageSpool) throws {
    guard !pull.lying.isEmpty else { return }
    let notes = pull.lying.sorted().map { (EntryFacts(.lie, number: begun, resource: $0), [UInt8]()) }
    _ = try store(notes, in: database, file: file)
  }

  func beginFresh() throws {
    try performPull("begin a fresh sync") { database, file in
      let lying = pull.lying
      try dropPulled(database, file: file)
      pull.isFresh = true
      pull.lying = lying
      try noteLies(database, file: file)
    }
  }

  func hasPulled(_ database: Database) throws -> Bool {
    let isThere = """
      SELECT EXISTS (SELECT 1 FROM temp.pulled) OR EXISTS (SELECT 1 FROM temp.seen)
        OR EXISTS (SELECT 1 FROM temp.answers)
        OR EXISTS (SELECT 1 FROM temp.lists WHERE kept IS NOT NULL)
      """
    return try database.count(isThere) == 1
  }

  // MARK: The file and the cache

  /// - Parameter migrated: The contents of the file that version 0.1 wrote beside its cache; nil for a later cache.
  func openPulled(_ database: Database, migrated: StagingFile?) throws {
    try database.execute(PulledTables.create)
    let remembered = try rememberedFile(database)
    let file = try PageSpool(pulledPath, digest: database.pageDigest())
    let found = try file.owner()
    var isOurs = false
    if let found { isOurs = try isOfSnapshot(found, file: file, in: database) }
    let isKnown = try migrated?.isCacheKnown ?? isCacheKnown(found, in: database)
    if try !redefine(database), !isKnown { try renewFeed(database) }
    try ListRules.apply(schema, to: database)
    if let until = migrated?.heldUntil {
      // Version 0.1 did not store when the hold began.
      try database.run(
        "UPDATE main.cache_identity SET held_by = ?1, held_at = unixepoch(), held_until = ?2", .text(upstream),
        .real(until))
    }
    if migrated != nil { StagingFile.drop(path) }
    pull = PullFacts()
    generation += 1
    pulled = file
    try remember(file, remembered: remembered, in: database)
    if isOurs, let found { try index(file, of: found, in: database) } else { try file.empty() }
    try writeOwner(database, file: file)
  }

  /// The file that rosterd made there last. Throws if another program's file has this name.
  private func rememberedFile(_ database: Database) throws -> String? {
    let remembered = try database.first("SELECT pulled FROM main.cache_identity") { $0.optionalText(0) } ?? nil
    try PageSpool.inspect(pulledPath, identity: remembered)
    return remembered
  }

  /// Call this before anything is written to the file. Its header may be damaged by the disk or a crash, and the file
  /// is rosterd's all the same.
  private func remember(_ file: PageSpool, remembered: String?, in database: Database) throws {
    let identity = FileIdentity(file.path)?.text
    if identity != remembered { try database.run("UPDATE main.cache_identity SET pulled = ?", Value(identity)) }
  }

  /// Adapts the tables to the definitions. Returns false if they agree already.
  private func redefine(_ database: Database) throws -> Bool {
    guard let redefinition = try Redefinition(schema, in: database, tick: tick) else { return false }
    let names = redefinition.names.joined(separator: ", ")
    logger.notice("the definition of \(names) is another one: the next sync transfers all of it")
    try database.transaction { try redefinition.run() }
    return true
  }

  /// Replaces the file after it was lost, damaged or removed.
  func renewPulled(_ database: Database, because reason: String) throws {
    logger.notice("pulled pages are dropped: \(reason)", metadata: ["path": "\(pulledPath)"])
    let remembered = try rememberedFile(database)
    pulled = nil
    let file = try PageSpool(pulledPath, digest: database.pageDigest())
    pulled = file
    generation += 1
    try remember(file, remembered: remembered, in: database)
    try dropPulled(database, file: file)
  }

  /// Empties the file, because its pages are published or of no use.
  func dropPulled(_ database: Database, file: PageSpool) throws {
    if try !PulledTables.shrink(in: database) {
      let emptied = ["temp.pulled", "temp.same", "temp.answers", "temp.seen"] + ParentTables.names
      for table in emptied + KeyTables.all.map(\.missing) { try database.run("DELETE FROM \(table)") }
    }
    pull = PullFacts(generation: pull.generation)
    try file.empty()
    try writeOwner(database, file: file)
  }

  /// Frees the room of the temporary tables after a sync for which the disk was full. The pulled pages are kept.
  func freeTemporaryRoom() throws {
    try performPull("free the room of temporary tables") { database, file in
      guard let owner = try file.owner(), try PulledTables.shrink(in: database) else { return }
      try index(file, of: owner, in: database)
    }
  }

  func writeOwner(_ database: Database, file: PageSpool) throws {
    guard var owner = try owner(database) else { throw SQLiteError.damaged("cache_identity is empty") }
    owner.guardedBelow = pull.guardedBelow
    owner.sync = pull.sync
    try file.write(owner)
  }

  /// Begins a pull: no page is part of it yet. Pages that an earlier sync kept can be confirmed.
  func beginPull(_ database: Database) throws {
    try database.run("UPDATE temp.pulled SET number = NULL WHERE number IS NOT NULL")
    for table in ["temp.same", "temp.answers"] + KeyTables.all.map(\.missing) {
      try database.run("DELETE FROM \(table)")
    }
    try ParentTables.begin(database)
    pull = PullFacts(
      generation: generation, guardedBelow: pull.guardedBelow, begunAt: pulled?.end ?? 0, sync: pull.sync,
      pauses: pull.pauses, lying: pull.lying,
      distrusted: Set(
        try database.rows("SELECT name FROM main.resources WHERE validators = 'distrusted'") { $0.text(0) }))
  }

  /// The owner that belongs in a file of the current cache.
  private func owner(_ database: Database) throws -> PageSpool.Owner? {
    let digest = try database.pageDigest()
    return try database.first("SELECT feed, \(FixedTables.verified) FROM main.cache_identity") {
      PageSpool.Owner(
        feed: $0.text(0), cache: files.database?.text ?? "", epoch: $0.integer(1), source: digest(source.bytes))
    }
  }

  private func isOfSnapshot(_ found: PageSpool.Owner, file: PageSpool, in database: Database) throws -> Bool {
    guard let own = try owner(database), found.feed == own.feed, found.epoch == own.epoch else { return false }
    return found.source == own.source || file.source(of: found)?.bytes == source.bytes
  }

  /// True if this file is the one that was written last. After a restored backup, ids of `changes` that readers have
  /// already followed would be used again. The header of the pulled pages shows this: it names the file, and no later
  /// sync than its own.
  private func isCacheKnown(_ found: PageSpool.Owner?, in database: Database) throws -> Bool {
    guard let own = try owner(database), let found else { return false }
    return found.feed == own.feed && found.cache == own.cache && found.epoch <= own.epoch
  }

  private func renewFeed(_ database: Database) throws {
    try database.renewFeed()
    guard try database.count("SELECT snapshot IS NOT NULL FROM main.cache_info") == 1 else { return }
    logger.notice(
      "the cache may not be the one that was written last: its feed is a new one", metadata: ["path": "\(path)"])
  }

  private func index(_ file: PageSpool, of owner: PageSpool.Owner, in database: Database) throws {
    (pull.guardedBelow, pull.sync) = (owner.guardedBelow, owner.sync)
    try database.transaction("BEGIN") {
      try file.scan { facts, place in
        if facts.kind == .lie { pull.lying.insert(facts.resource) }
        if facts.kind == .pause { pull.pauses.add(facts) }
        guard let index = try? self.index(of: facts.resource) else { return }
        try PulledTables.take(facts, index: index, number: nil, place: place, in: database)
      }
    }
  }

  private func unconfirm(_ index: Int, place: ListPlace, address: String, in database: Database) throws {
    let list = try ListID(schema.tables[index].resource.name, parent: place.parent, in: database)
    try database.run(
      """
      DELETE FROM temp.same WHERE resource = ?1 AND list = ?2
        AND page = (SELECT p.id FROM main.cache_pages p WHERE p.list_id = ?3 AND p.address = ?4)
      """, Value(index), .integer(place.number), Value(list?.id), .text(address))
  }

  /// True if the snapshot has records of the list, whatever is known of its pages.
  func hasRecords(_ resource: String, in place: ListPlace) throws -> Bool {
    try perform("read the cache") { database in
      try database.count(
        "SELECT coalesce(sum(records), 0) FROM main.resource_lists WHERE resource = ?1 AND parent_id = ?2",
        .text(resource), .integer(place.parent)) > 0
    }
  }

  /// The list's id if its published pages may be requested conditionally. It is nil in four cases:
  ///
  /// - The pages belong to another upstream.
  /// - Another question led to them.
  /// - They do not fit together.
  /// - They list a key twice. A removed page may have had the better record of such a key.
  private func publishedPages(of resource: String, _ place: ListPlace, in database: Database) throws -> Int64? {
    guard !pull.forgotten.contains(resource), !pull.forgottenLists.contains(place.number) else { return nil }
    return try database.first(
      """
      SELECT l.id FROM main.cache_identity i, main.cache_resources c
      CROSS JOIN main.cache_lists l ON l.resource_id = c.id AND l.parent_id = ?4
      WHERE c.name = ?1 AND l.repeats = 0 AND i.upstream = ?2 AND (?3 = 0 OR l.question IS ?3)
      """, .text(resource), .text(upstream), .integer(try questions(of: resource, database).digest(list: place.number)),
      .integer(place.parent)
    ) { $0.integer(0) }
  }

  /// The resource's position among the definitions.
  func index(of resource: String) throws -> Int {
    guard let index = schema.tables.firstIndex(where: { $0.resource.name == resource }) else {
      throw Failure(.defect, step: "keep pulled pages", subject: path, cause: "no resource is named \(resource)")
    }
    return index
  }

  /// Runs a step of a sync that has begun. Throws if the cache or the pulled pages were replaced since.
  func performPull<Result>(_ step: String, _ body: (Database, PageSpool) throws -> Result) throws -> Result {
    let pulled = try pulledPages(step)
    return try perform(step) { try body($0, pulled) }
  }

  func pulledPages(_ step: String) throws -> PageSpool {
    guard pull.generation == generation, let pulled else {
      throw Failure(
        .cannotWrite, step: step, subject: path, cause: "the cache was replaced since this sync began",
        hint: "the next sync pulls what is missing")
    }
    return pulled
  }
}

extension Cache {
  var pauses: RequestPauses { pull.pauses }

  func notePause(from start: Date, until end: Date, by question: String?) throws {
    try performPull("note a pause of requests") { database, file in
      guard !file.hasConclusion else { return }
      try noteConfirmed(in: database, file: file)
      guard try hasPulled(database), pull.pauses.add(from: start, until: end, by: question) else { return }
      let length = Int((end.timeIntervalSince(start) * 1000).rounded(.up))
      let facts = EntryFacts(
        .pause, number: begun, address: question ?? "", length: length, receivedAt: start)
      // `store` would note this sync as the one that pulled the pages.
      _ = try file.append([(facts, [])])
    }
  }
}
