internal import FoundationEssentials
package import RosterCore
internal import RosterDecode

/// The differences between the unpublished pages of a sync and the snapshot, at the time of the call.
package struct PendingChanges {
  /// The sync, and the number of differences of each resource.
  package let pull: PendingPull
  private let reader: CacheReader

  fileprivate init(_ pull: PendingPull, reader: CacheReader) {
    self.pull = pull
    self.reader = reader
  }

  /// Goes over the differences, in the order in which the publication would write them into `changes`. Throws `Failure`
  /// (73), and what `body` throws.
  package func each(_ body: (PendingRecord, PendingResource) throws -> Void) throws {
    for (index, resource) in pull.resources.enumerated() { try forEach(index, kind: nil) { try body($0, resource) } }
  }

  /// Goes over the records that are absent for the first time. Throws the same errors as `each`.
  package func eachAbsent(_ body: (AbsentRecord, PendingResource) throws -> Void) throws {
    for (index, resource) in pull.resources.enumerated() { try forEachAbsent(index) { try body($0, resource) } }
  }

  private func forEachAbsent(_ resource: Int, body: (AbsentRecord) throws -> Void) throws {
    try reader.failing { try DifferenceTable.forEachAbsent(reader.database, index: resource, body: body) }
  }

  private func forEach(
    _ resource: Int, kind: ChangeKind?, body: (PendingRecord) throws -> Void
  ) throws {
    try reader.failing { try DifferenceTable.forEach(reader.database, index: resource, kind: kind, body: body) }
  }

  /// Writes the documented JSON of `rosterctl pending`, piece by piece. Throws the same errors as `each`.
  package func writeJSON(_ write: (String) throws -> Void) throws {
    var text = ""
    try appendJSON { piece in
      text += piece
      if text.utf8.count < Self.maxPiece { return }
      try write(text)
      text = ""
    }
    try write(text)
  }

  /// Bytes in one call of `write`: many small calls would cost more than the memory.
  private static let maxPiece = 1 << 16

  private func appendJSON(_ write: (String) throws -> Void) throws {
    try write("{\"sync\":\(pull.sync.map(String.init) ?? "null"),\"resources\":[")
    for (index, resource) in pull.resources.enumerated() {
      try write("\(index == 0 ? "" : ",")\(resource.head)")
      for kind in ChangeKind.allCases {
        var separator = ""
        try write(",\"\(kind.rawValue)\":[")
        try forEach(index, kind: kind) { record in
          try write(separator + record.json(of: resource))
          separator = ","
        }
        try write("]")
      }
      try writeAbsent(index, write: write)
      try write("}")
    }
    try write("]}\n")
  }

  /// Writes only the keys of absent records.
  private func writeAbsent(_ resource: Int, write: (String) throws -> Void) throws {
    var separator = ""
    try write(",\"absent\":[")
    try forEachAbsent(resource) { record in
      try write(separator + (record.of.map { "{\"key\":\(record.key),\"of\":\($0)}" } ?? record.key))
      separator = ","
    }
    try write("]")
  }
}

extension PendingResource {
  fileprivate var head: String {
    String(JSONWriter.object { $0.member("resource", name) }.text.dropLast())
  }
}

extension PendingRecord {
  /// `key`, and the record in the form of `changes`. A changed record has both forms, and the names of the fields that
  /// differ. The member `key`, and `of` and `with` of a child, are never a column or list of that name.
  fileprivate func json(of resource: PendingResource) -> String {
    guard kind == .changed else {
      let record = record(without: resource.parent == nil ? ["key"] : ["key", "of", "with"], of: resource)
      let with = isWithParent ? resource.parent.map { "\"\($0)\"" } : nil
      let own = [("key", key), ("of", of), ("with", with)].filter { $0.1 != nil }
      return "{" + own.map { "\"\($0)\":\($1 ?? "null")," }.joined() + record.dropFirst()
    }
    return JSONWriter.object { json in
      let own = ["key", "of", "with", "fields", "before", "after"]
      json.member("key", json: key)
      if of != nil { json.member("of", json: of) }
      // A composite key, and the key of a detail, have no column of their own.
      let column = resource.isDetail || key.hasPrefix("[") ? nil : resource.telling.first?.name
      if let column, !own.contains(column) { json.member(column, json: key) }
      json.name("fields")
      json.list { json in for field in fields { json.value(field) } }
      json.member("before", json: before)
      json.member("after", json: after)
    }.text
  }

  /// The record as JSON, without columns and lists of these names. It always has the member `extra`.
  private func record(without names: [String], of resource: PendingResource) -> String {
    let record = after ?? before ?? "{}"
    let taken = names.filter(resource.members.contains)
    guard !taken.isEmpty, case .object(let members)? = try? JSONValue(json: record.utf8) else { return record }
    return JSONWriter(.object(members.filter { !taken.contains($0.name) })).text
  }
}

extension CacheReader {
  /// The differences between the unpublished pages of a sync and the snapshot. Reads the cache and the file of pulled
  /// pages, changes neither, and blocks no writer. Throws `Failure` (73) if one of them cannot be read.
  package func pending() throws -> PendingChanges {
    let path = try CacheFile.resolve(path) + ".next"
    for _ in 0..<Self.looks {
      do { return PendingChanges(try pendingPull(path), reader: self) } catch is PendingReading.Moved { continue }
    }
    throw Failure(
      .cannotWrite, step: "read pulled pages", subject: path, cause: "a sync drops and renews them all the time",
      hint: "ask again")
  }

  private func pendingPull(_ path: String) throws -> PendingPull {
    try? database.execute("DETACH next")
    let identity = try read { try database.first("SELECT pulled FROM main.cache_identity") { $0.optionalText(0) } }
    try Staging.inspect(path, identity: identity ?? nil)
    guard let file = try Staging(reading: path, in: database) else { return PendingPull() }
    return try read {
      try database.execute(PulledTables.drop)
      guard var reading = try PendingReading(self, file: file) else { return PendingPull() }
      return try reading.run()
    }
  }

  /// A publish empties the file during a look once, seldom twice. A look that ends early costs little.
  private static let looks = 10
}

/// Reads the file of pulled pages once, beside its writer, within a transaction of the cache.
private struct PendingReading {
  /// The pages were dropped, or belong to another snapshot, since the reading began.
  struct Moved: Error {}

  private let reader: CacheReader
  private let file: Staging
  private let owner: Staging.Owner
  private var pull = PendingPull()
  /// The upstream and the definitions of the pull.
  private var upstream = ""
  private var resources: [Resource] = []
  private var conclusion: PullConclusion?

  /// nil if the pages do not belong to the snapshot of this cache.
  init?(_ reader: CacheReader, file: Staging) throws {
    let identity = try reader.database.first("SELECT feed, \(FixedTables.verified) FROM main.cache_identity") {
      (feed: $0.text(0), epoch: $0.integer(1))
    }
    guard let owner = try file.owner(), owner.feed == identity?.feed, owner.epoch == identity?.epoch else { return nil }
    self.reader = reader
    self.file = file
    self.owner = owner
  }

  private var database: Database { reader.database }

  mutating func run() throws -> PendingPull {
    do {
      try readPull()
      if pull.sync != nil { try compare() }
    } catch let error as SQLiteError where error.kind == .damaged {
      // The writer has renewed the file since.
      throw Moved()
    }
    return pull
  }

  private mutating func readPull() throws {
    conclusion = try file.conclusion()
    try database.execute(
      PulledTables.tables + StagingTables.views(isWhole: conclusion != nil) + DifferenceTable.create)
    guard let source = PullKey(owner.source) else { return }
    (upstream, resources) = (source.upstream, source.resources)
    guard try !resources.isEmpty && (conclusion != nil || !StagingTables.isEmpty(database)) else { return }
    pull.isWhole = conclusion != nil
    pull.sync = try conclusion?.sync ?? file.sync()
    try ParentTables.readStaged(database)
    try database.run("INSERT INTO temp.same SELECT * FROM next.same")
    pull.report = try database.first("\(SyncRow.select) WHERE id = ?", Value(pull.sync), read: SyncRow.read)
      .map(reader.settled)
  }

  private mutating func compare() throws {
    let snapshot = try ResourceDifferences.snapshot(database)
    let waiting = try WaitingDefinitions(resources, in: database)
    try waiting.createViews(in: database)
    var data = PullData(
      database: database, file: file, tables: try waiting.tables(of: resources),
      plans: try resources.map { try RecordPlan($0) })
    var compared: [Int: PendingResource] = [:]
    for index in data.family.descending {
      let isInSnapshot = snapshot[resources[index].name] != nil
      compared[index] = try compare(index, in: &data, isInSnapshot: isInSnapshot)
    }
    pull.resources += resources.indices.compactMap { compared[$0] }
    guard pull.isWhole else { return }
    let pulled = Set(resources.map(\.name))
    for tables in try Schema(of: database).tables where !pulled.contains(tables.resource.name) {
      pull.resources.append(try drop(tables, index: pull.resources.count, records: snapshot[tables.resource.name] ?? 0))
    }
  }

  private func compare(_ index: Int, in data: inout PullData, isInSnapshot: Bool) throws -> PendingResource {
    let tables = data.tables[index]
    let removal = conclusion.map { $0.parts[index].removal }
    try compareLists(index, in: &data)
    try answer(index, plan: data.plans[index])
    var table = try DifferenceTable(database, tables: tables, index: index, isInSnapshot: isInSnapshot)
    var pending = PendingResource(tables)
    let owners = try WindowOwners(of: index, in: data)
    try data.forEachListToPublish(of: index) { scope, found in
      table.owner = try owner(of: scope)
      var differences = try ResourceDifferences(data, scope: scope, found: found, owners: owners)
      try differences.find(removal, table: table)
      pending.add(differences)
    }
    if isInSnapshot { pending.removed += try removeWithParents(index, in: data, table: &table) }
    guard data.family.hasChildren(index) else { return pending }
    // The missing records are not known yet.
    if removal == nil { try database.run("DELETE FROM \(tables.keys.missing) WHERE resource = ?1", Value(index)) }
    try data.stageParents(index, decision: RemovalDecision(removal ?? .keepsAll))
    return pending
  }

  /// Compares the lists of a resource that the pull has read completely.
  private func compareLists(_ index: Int, in data: inout PullData) throws {
    let resource = resources[index]
    guard resource.each != nil else {
      let isIncremental = conclusion?.parts[index].isIncremental == true
      data.compared[resource.name] = try data.compare(
        data.scope(index, isIncremental: isIncremental))
      return
    }
    let now = pull.report?.finishedAt.flatMap { Date(rfc3339: $0) } ?? Date()
    let isFresh = conclusion?.isFresh == true
    try ListPlanning(data, resource: index, upstream: upstream, now: now, isFresh: isFresh).run()
    try settleLists(index)
    try data.forEachList(of: index) { scope, _ in try data.note(data.compare(scope), of: scope) }
  }

  /// Restores the pages of lists that were pulled to their end. Lists without a request are empty or were not pulled.
  private func settleLists(_ index: Int) throws {
    let isWanted = "resource = ?1 AND state = \(ParentTables.State.wanted.rawValue)"
    try database.run(
      """
      UPDATE temp.lists SET start = substr(e.asked, length(lists.asked) + 2) FROM next.list e
      WHERE e.id = lists.list AND lists.\(isWanted) AND e.asked > lists.asked
        AND substr(e.asked, 1, length(lists.asked) + 1) = lists.asked || char(10)
      """, Value(index))
    let isKept = """
      EXISTS (SELECT 1 FROM next.list e WHERE e.id = lists.list AND e.asked IS \(ParentTables.question("lists")))
      """
    if pull.isWhole {
      try database.run(
        """
        UPDATE temp.lists SET state = \(ParentTables.State.empty.rawValue)
        WHERE \(isWanted) AND NOT \(isKept) AND \(ParentTables.isEmpty)
        """, Value(index))
    }
    let lists = try database.rows(
      "SELECT list FROM temp.lists WHERE \(isWanted) AND \(isKept)", Value(index)
    ) { $0.integer(0) }
    for list in lists { try ParentTables.resume(list, in: database) }
  }

  private func owner(of scope: ListScope) throws -> DifferenceTable.Owner? {
    try database.first("SELECT path FROM temp.lists WHERE list = ?1", .integer(scope.number)) {
      DifferenceTable.Owner(path: $0.text(0), parent: scope.parent)
    }
  }

  /// Notes the records that go because their parents do. Returns their number.
  private func removeWithParents(_ index: Int, in data: PullData, table: inout DifferenceTable) throws -> Int {
    let tables = data.tables[index]
    guard let parent = data.family.parent(of: index), let column = tables.parentColumn,
      try data.arePublished(upFrom: parent)
    else { return 0 }
    let above = data.tables[parent]
    let gone = try database.rows(
      """
      SELECT t.\(tables.id), r.record_id, \(data.family.path(parent, row: "p")) FROM temp.removed_parents r
      CROSS JOIN \(tables.from) t ON t.\(column) = r.record_id
      CROSS JOIN \(above.from) p ON p.\(above.id) = r.record_id WHERE r.resource = ?1 ORDER BY 1
      """, Value(parent)
    ) { (id: $0.integer(0), owner: DifferenceTable.Owner(path: $0.text(2), parent: $0.integer(1))) }
    for record in gone {
      table.owner = record.owner
      try table.removed(record.id, isWithParent: true)
    }
    return gone.count
  }

  private func answer(_ index: Int, plan: RecordPlan) throws {
    let places = try database.rows("SELECT place FROM temp.answers WHERE resource = ?1", Value(index)) { $0.integer(0) }
    for place in places {
      try PulledTables.answer(file.page(at: place), isText: plan.hasTextKeys, in: database)
    }
  }

  /// Reports a resource that is missing from the configuration: the next publish drops its tables.
  private func drop(_ tables: ResourceTables, index: Int, records: Int) throws -> PendingResource {
    let table = try DifferenceTable(database, tables: tables, index: index, isInSnapshot: true)
    let ids = try database.once("SELECT \(tables.id) FROM main.\(tables.table) ORDER BY 1")
    while try ids.step() { try table.removed(ids.row.integer(0)) }
    var pending = PendingResource(tables)
    pending.removed = records
    return pending
  }
}

extension PendingResource {
  fileprivate init(_ tables: ResourceTables) {
    let members = tables.resource.columns.map(\.name) + tables.resource.lists.map(tables.listName)
    self.init(name: tables.resource.name, telling: tables.telling, members: members)
    (parent, isDetail) = (tables.parent, tables.resource.isDetail)
  }

  fileprivate mutating func add(_ differences: ResourceDifferences) {
    added += differences.added
    changed += differences.changed
    removed += differences.removed
    absent += differences.absent
  }
}
