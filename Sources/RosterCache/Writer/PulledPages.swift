package import FoundationEssentials
internal import Logging
package import RosterCore
internal import RosterDecode

/// Stores the pages of a pull in `next`.
extension Cache {
  /// `<file>.next`. `roster` and `roster.db` each have their own file.
  nonisolated var pulledPath: String { file + ".next" }

  /// Makes digests of bodies, to compare a body with the one of a `CachedPage` before it is scanned.
  package var digest: PageDigest {
    get throws { try perform("read the cache") { try $0.pageDigest() } }
  }

  /// The known facts of the pages of a list at these addresses. An address without known facts is left out.
  package func known(
    _ resource: String, in place: ListPlace = ListPlace(), addresses: [String]
  ) throws -> [String: CachedPage] {
    if pull.isFresh { return [:] }
    return try performPull("read what is known of pages") { database, _ in
      let index = try self.index(of: resource)
      let published = try publishedPages(of: resource, place, in: database)
      let isWhole = try !isIncremental(index, list: place.number, in: database)
      let expired = try isWhole ? published.map { try expiredPages(of: resource, list: $0, database) } ?? [] : []
      let question = try keptQuestion(of: resource, list: place.number, database)
      // One transaction for all, because each single look-up would lock the file and release it again.
      return try database.transaction("BEGIN") {
        let entries = try StagingTables.isEmpty(database) ? nil : database.statement(CachedPage.selectEntries)
        entries?.bind(1, Int64(index))
        entries?.bind(2, place.number)
        var found: [String: CachedPage] = [:]
        found.reserveCapacity(addresses.count)
        let look = try database.statement(CachedPage.selectPublished)
        for address in addresses {
          entries?.bind(3, address)
          defer { entries?.reset() }
          let entry = try entries?.step() == true ? entries?.row : nil
          if let place = entry?.optionalInteger(0) {
            let state = entry?.int(1) == 0 ? CachedPage.State.kept : .guarded
            let page = try database.first(CachedPage.selectKept, .integer(place), .integer(question)) {
              CachedPage(row: $0, address, state: state)
            }
            // The page was read by another question, and may lack what this question looks for.
            guard let page else { continue }
            found[address] = page
          } else if let published {
            look.bind(1, published)
            look.bind(2, address)
            defer { look.reset() }
            if try look.step(), !expired.contains(look.row.integer(0)) {
              found[address] = CachedPage(row: look.row, address)
            }
          }
          if let entry, entry.optionalInteger(2) == question { found[address]?.came(again: entry) }
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

  /// Keeps transferred pages with one append. A page replaces an earlier page of the same address.
  package func append(_ pages: [PageBody]) throws {
    guard !pages.isEmpty else { return }
    for page in pages where page.place.isRoot { pull.compared[page.resource] = nil }
    try performPull("keep pulled pages") { database, file in
      try database.transaction("BEGIN") {
        try file.stores(for: begun)
        for page in pages {
          let index = try self.index(of: page.resource)
          try StagingTables.reopen(page.place, of: index, in: database)
          _ = try file.insert(facts(page, of: index, in: database), body: page.body, sync: begun)
          // The page differs from the published one.
          if pull.confirmed > 0 { try unconfirm(index, place: page.place, address: page.address, in: database) }
        }
      }
    }
  }

  private func facts(_ page: PageBody, of index: Int, in database: Database) throws -> StagedPage {
    var facts = StagedPage(page, of: index)
    let question = try keptQuestion(of: page.resource, list: page.place.number, database)
    if question != 0 { facts.since = SinceFacts(page, question: question) }
    if pull.ignoresValidators(of: page.resource) { facts.validator = Validator() }
    return facts
  }

  /// Makes known pages part of this pull.
  package func confirm(_ resource: String, pages: [ConfirmedPage], in place: ListPlace = ListPlace()) throws {
    guard !pages.isEmpty else { return }
    var pages = pages
    if pull.ignoresValidators(of: resource) { for index in pages.indices { pages[index].validator = Validator() } }
    if place.isRoot { pull.compared[resource] = nil }
    let list = place.number
    try performPull("keep pulled pages") { database, file in
      let index = try self.index(of: resource)
      let keep = try database.statement(
        "UPDATE next.page SET number = ?4 WHERE resource = ?1 AND list = ?2 AND address = ?3")
      let same = try database.statement("INSERT OR REPLACE INTO temp.same VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
      try database.transaction("BEGIN") {
        if pages.contains(where: { $0.page.state != .published }) { try file.stores(for: begun) }
        if try noteSeen(resource, place: place, pages: pages, of: index, in: database) {
          try file.stores(for: begun)
          file.notes()
        }
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
  /// that upstream confirmed. The next sync does not transfer them again. Returns true if there are any.
  private func noteSeen(
    _ resource: String, place: ListPlace, pages: [ConfirmedPage], of index: Int, in database: Database
  ) throws -> Bool {
    let question = try keptQuestion(of: resource, list: place.number, database)
    var hasNotes = false
    for confirmed in pages {
      let validator = confirmed.validator.isEmpty ? confirmed.page.validator : confirmed.validator
      let kept = confirmed.page.state == .kept ? confirmed.confirmedAt : nil
      let changed = validator == confirmed.page.validator ? nil : Date.distantPast
      guard let at = confirmed.receivedAt ?? kept ?? changed else { continue }
      hasNotes = true
      try StagingTables.see(
        index, list: place.number, address: confirmed.page.address, validator: validator, at: at,
        answered: question == 0 ? nil : confirmed.answered ?? at, question: question, in: database)
    }
    if hasNotes { try StagingTables.reopen(place, of: index, in: database) }
    return hasNotes
  }

  /// Notes the published pages that upstream confirmed in this pull (304), before a time without requests. The next
  /// sync does not request them again. The lists of children are kept as wholes.
  func noteConfirmed(in database: Database) throws {
    for (index, plan) in plans.enumerated() {
      let question = try questions(of: plan.resource.name, database).common
      try database.run(
        """
        INSERT OR REPLACE INTO next.seen
        SELECT s.resource, s.list, p.address, s.confirmed,
          CASE WHEN s.etag IS NULL AND s.last_modified IS NULL THEN p.etag ELSE s.etag END,
          CASE WHEN s.etag IS NULL AND s.last_modified IS NULL THEN p.last_modified ELSE s.last_modified END,
          CASE WHEN ?2 <> 0 THEN s.answered END, ?2, 0
        FROM temp.same s CROSS JOIN main.cache_pages p ON p.id = s.page
        WHERE s.resource = ?1 AND s.list = 0 AND s.confirmed IS NOT NULL
        """, Value(index), .integer(question))
    }
  }

  /// Drops the pulled pages of a resource, or of one of its lists, because they do not fit together. The sync
  /// ignores its known pages from here on, so that the next pull requests every page whole.
  /// - Parameter keepsPublished: True if published pages may still be confirmed: only the question was wrong.
  package func discard(_ resource: String, in place: ListPlace? = nil, keepsPublished: Bool = false) throws {
    // The only list of a resource is the resource.
    let place = place.flatMap { $0.isRoot ? nil : $0 }
    pull.compared[resource] = nil
    if !keepsPublished {
      if let place { pull.forgottenLists.insert(place.number) } else { pull.forgotten.insert(resource) }
    }
    try performPull("discard pulled pages") { database, file in
      let index = try self.index(of: resource)
      try StagingTables.drop(index, list: place?.number, in: database)
      if try StagingTables.isEmpty(database) {
        try empty(file, in: database)
        try noteLies(database)
      } else {
        try file.stores(for: begun)
      }
    }
  }

  /// Drops the pulled pages of a resource, and all pages that its validators confirmed: they lied. The validators
  /// are not used until another definition or a fresh sync is published, even if this sync is not published.
  package func distrust(_ resource: String) throws {
    pull.lying.insert(resource)
    try discard(resource)
    try performPull("note that validators lied") { database, _ in try noteLies(database) }
  }

  private func noteLies(_ database: Database) throws {
    for name in pull.lying.sorted() {
      try database.run("INSERT OR IGNORE INTO next.lie VALUES (?1)", .text(name))
    }
  }

  /// Begins a sync that transfers everything again: forgets the pages that an earlier one kept.
  package func beginFresh() throws {
    try performPull("begin a fresh sync") { database, file in
      let lying = pull.lying
      try dropPulled(database, file: file)
      pull.isFresh = true
      pull.lying = lying
      try noteLies(database)
    }
  }

  // MARK: The file and the cache

  func openPulled(_ database: Database) throws {
    try database.execute(PulledTables.create)
    let file = try openFile(database)
    let found = try file.owner()
    let isOurs = try found.map { try isOfSnapshot($0, in: database) } ?? false
    let isKnown = try isCacheKnown(found, in: database)
    if !isKnown { try renewFeed(database) }
    try waitForDefinitions(database)
    pull = PullFacts()
    generation += 1
    pulled = file
    guard isOurs, let owner = try owner(database) else { return try empty(file, in: database) }
    do {
      try file.adopt(owner)
      try readStaged(database)
    } catch let error as SQLiteError where error.kind == .damaged {
      // Only a part of the file was read until now.
      try dropPulled(database, file: file)
    }
  }

  /// Throws if another program's file has this name. The file's identity is remembered before anything is written to
  /// it. If a crash or the disk damages its header, the file is rosterd's all the same.
  private func openFile(_ database: Database) throws -> Staging {
    let remembered = try database.first("SELECT pulled FROM main.cache_identity") { $0.optionalText(0) } ?? nil
    try Staging.inspect(pulledPath, identity: remembered)
    try Staging.touch(pulledPath)
    let identity = FileIdentity(pulledPath)?.text
    if identity != remembered { try database.run("UPDATE main.cache_identity SET pulled = ?", Value(identity)) }
    return try Staging(pulledPath, in: database)
  }

  /// Finds the definitions that wait for their first sync.
  private func waitForDefinitions(_ database: Database) throws {
    let resources = plans.map(\.resource)
    waiting = try WaitingDefinitions(resources, in: database)
    schema = Schema(try waiting.tables(of: resources))
    try waiting.createViews(in: database)
    try ListRules.apply(schema, to: database)
    if waiting.isEmpty { return }
    try database.transaction { try waiting.noteRecordIDs(in: database) }
    let names = waiting.names.joined(separator: ", ")
    logger.notice("the definition of \(names) is another one: readers see it when a sync has transferred all of it")
  }

  /// Replaces the file after it was lost, damaged or removed.
  func renewPulled(_ database: Database, because reason: String) throws {
    logger.notice("pulled pages are dropped: \(reason)", metadata: ["path": "\(pulledPath)"])
    try pulled?.detach()
    pulled = nil
    let file = try openFile(database)
    pulled = file
    generation += 1
    try dropPulled(database, file: file)
  }

  /// Empties the file, because its pages are published or of no use.
  func dropPulled(_ database: Database, file: Staging) throws {
    if try !shrinkTemporary(database) {
      for table in ["temp.same"] + ParentTables.names + KeyTables.all.map(\.missing) {
        try database.run("DELETE FROM \(table)")
      }
    }
    pull = PullFacts(generation: pull.generation)
    try empty(file, in: database)
  }

  /// Frees the room of the temporary tables after a sync for which the disk was full. The pulled pages are kept.
  func freeTemporaryRoom() throws {
    try performPull("free the room of temporary tables") { database, _ in
      if try shrinkTemporary(database) { try ParentTables.readStaged(database) }
    }
  }

  private func shrinkTemporary(_ database: Database) throws -> Bool {
    guard try PulledTables.shrink(in: database) else { return false }
    try waiting.createViews(in: database)
    return true
  }

  private func empty(_ file: Staging, in database: Database) throws {
    guard let owner = try owner(database) else { throw SQLiteError.damaged("cache_identity is empty") }
    try file.empty(for: owner)
  }

  /// Begins a pull: no page is part of it yet. Pages that an earlier sync kept can be confirmed.
  func beginPull(_ database: Database) throws {
    if pulled == nil { try renewPulled(database, because: "their file could not be renewed") }
    pulled?.begin()
    for table in ["temp.same"] + KeyTables.all.map(\.missing) { try database.run("DELETE FROM \(table)") }
    try ParentTables.begin(database)
    pull = PullFacts(
      generation: generation, pauses: pull.pauses, forgotten: Set(waiting.names), lying: pull.lying,
      distrusted: Set(
        try database.rows("SELECT name FROM main.resources WHERE validators = 'distrusted'") { $0.text(0) }))
  }

  /// The owner that belongs in a file of the current cache.
  private func owner(_ database: Database) throws -> Staging.Owner? {
    try database.first("SELECT feed, \(FixedTables.verified) FROM main.cache_identity") {
      Staging.Owner(feed: $0.text(0), cache: files.database?.text ?? "", epoch: $0.integer(1), source: source.text)
    }
  }

  /// The definitions of the file may be those of an earlier version, which had another form.
  private func isOfSnapshot(_ found: Staging.Owner, in database: Database) throws -> Bool {
    guard let own = try owner(database), found.feed == own.feed, found.epoch == own.epoch else { return false }
    return found.source == own.source || PullKey(found.source)?.text == own.source
  }

  /// True if this file is the one that was written last. After a restored backup, ids of `changes` that readers have
  /// already followed would be used again. The file of pulled pages shows this: it names the cache, and no later
  /// sync than its own.
  private func isCacheKnown(_ found: Staging.Owner?, in database: Database) throws -> Bool {
    guard let own = try owner(database), let found else { return false }
    return found.feed == own.feed && found.cache == own.cache && found.epoch <= own.epoch
  }

  private func renewFeed(_ database: Database) throws {
    try database.renewFeed()
    guard try database.count("SELECT snapshot IS NOT NULL FROM main.cache_info") == 1 else { return }
    logger.notice(
      "the cache may not be the one that was written last: its feed is a new one", metadata: ["path": "\(path)"])
  }

  /// Reads what a new process needs to know of the pages that an earlier one has stored.
  private func readStaged(_ database: Database) throws {
    pull.lying = Set(try database.rows("SELECT resource FROM next.lie") { $0.text(0) })
    let pauses = try database.rows("SELECT begin, \"end\", question FROM next.pause ORDER BY rowid") {
      (start: $0.date(0), end: $0.date(1), question: $0.optionalText(2))
    }
    for pause in pauses { pull.pauses.add(from: pause.start, until: pause.end, by: pause.question) }
    try ParentTables.readStaged(database)
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
  package func hasRecords(_ resource: String, in place: ListPlace) throws -> Bool {
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
  func performPull<Result>(_ step: String, _ body: (Database, Staging) throws -> Result) throws -> Result {
    let pulled = try pulledPages(step)
    return try perform(step) { try body($0, pulled) }
  }

  func pulledPages(_ step: String) throws -> Staging {
    guard pull.generation == generation, let pulled else {
      throw Failure(
        .cannotWrite, step: step, subject: path, cause: "the cache was replaced since this sync began",
        hint: "the next sync pulls what is missing")
    }
    return pulled
  }
}

extension Cache {
  /// The pauses of requests since the oldest pulled page.
  package var pauses: RequestPauses { pull.pauses }

  /// Notes that no request is allowed between these times, if an interrupted sync has pulled pages. The end of a whole
  /// pull stays the last entry: its pages wait for a decision, not for requests.
  /// - Parameter question: address of the question of `by_key` that brought the pause; nil if another answer did.
  package func notePause(from start: Date, until end: Date, by question: String? = nil) throws {
    try performPull("note a pause of requests") { database, file in
      guard !file.hasConclusion else { return }
      try noteConfirmed(in: database)
      file.notes()
      guard try !StagingTables.isEmpty(database), pull.pauses.add(from: start, until: end, by: question) else { return }
      try database.run("INSERT INTO next.pause VALUES (?1, ?2, ?3)", Value(start), Value(end), Value(question))
    }
  }
}
