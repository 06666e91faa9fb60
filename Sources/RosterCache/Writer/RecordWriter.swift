internal import RosterDecode
internal import RosterModel

/// Writes records of one resource, one by one, within the publishing transaction. It looks the row up (`StoredRecords`)
/// and writes the differences, with list rows, words of the index and a row in `changes`. An unchanged row is not
/// written.
struct RecordWriter {
  private(set) var added = 0
  private(set) var changed = 0
  private(set) var removed = 0

  private let database: Database
  private let tables: ResourceTables
  private let sync: Int64
  /// True for the first snapshot of the resource: rows are not looked up, no changes are written, and the index is made
  /// at the end.
  private let isFirst: Bool
  private let stored: StoredRecords
  private let insert: Statement
  private let update: Statement
  private let delete: Statement
  private let words: WordIndex?
  private let change: Statement
  private let removal: Statement
  private let json: Statement
  private let lists: [ListWriter]
  private let columns: Int
  /// The record ids that this pull has given to new parents; nil if the resource has no children.
  private let reserved: ReservedIDs?

  init(
    _ database: Database, _ tables: ResourceTables, sync: Int64, at: String, isFirst: Bool,
    reserved: ReservedIDs? = nil
  ) throws {
    self.reserved = reserved
    self.database = database
    self.tables = tables
    self.sync = sync
    self.isFirst = isFirst
    columns = tables.resource.columns.count
    stored = try StoredRecords(database, tables)
    insert = try database.statement(tables.insert)
    update = try database.statement(tables.update)
    delete = try database.statement(tables.delete)
    words = try WordIndex(database, tables)
    json = try database.statement(tables.json)
    let values = "VALUES (\(sync), \(literal(tables.resource.name)), ?1, ?2, \(literal(at)),"
    let into = "INSERT INTO main.changes(sync_id, resource, record_id, kind, at, before, after)"
    change = try database.once("\(into) \(values) ?3, (\(tables.json)))")
    removal = try database.once("\(into) \(values) (\(tables.json)), NULL)")
    lists = try tables.resource.lists.indices.map { try ListWriter(database, tables, $0) }
  }

  /// The effect of writing a record.
  enum Outcome {
    case added(Int64)
    case same
    case changed
  }

  /// Writes the record at the decoder's position.
  /// - Parameter scope: The list that the record belongs to.
  @discardableResult
  mutating func write(_ decoder: inout RecordDecoder, of scope: ListScope) throws -> Outcome {
    if isFirst { return .added(try add(&decoder, scope)) }
    switch try stored.standing(of: &decoder, below: scope.parent) {
    case .new: return .added(try add(&decoder, scope))
    case .same: return .same
    case .changed(let difference):
      try change(difference, decoder: &decoder)
      return .changed
    }
  }

  /// Removes a record that upstream does not list any more.
  mutating func remove(_ id: Int64) throws {
    try removal.run([.integer(id), "removed"])
    try words?.remove(id)
    for list in lists { try list.cut(id, from: 0) }
    try delete.run([.integer(id)])
    removed += 1
  }

  /// Inserts a record that was stored by another definition into new tables. If another record already has its key, it
  /// is left out.
  /// - Parameters:
  ///   - id: nil assigns a new id, or the id that the key determines.
  ///   - parent: record id of the parent; 0 without a parent.
  func restore(
    _ decoder: inout RecordDecoder, id: Int64?, parent: Int64 = 0, firstSync: Int64, changedSync: Int64
  ) throws {
    let insert = try database.statement(tables.restore)
    let before = database.totalChanges
    bind(insert, decoder)
    var next = Int32(columns + 2)
    func bindNext(_ value: Value) {
      insert.bind(next, value)
      next += 1
    }
    for sync in [firstSync, changedSync] { bindNext(.integer(sync)) }
    if tables.parent != nil { bindNext(.integer(parent)) }
    if tables.hasOwnIDs { bindNext(Value(id)) }
    try insert.run()
    if database.totalChanges == before { return }
    let id = insert.lastID
    for list in lists { try list.add(id, &decoder) }
  }

  /// Makes the index of words after the first snapshot.
  func finish() throws {
    if isFirst, let rebuild = tables.rebuildIndex { try database.execute(rebuild) }
  }

  private mutating func add(_ decoder: inout RecordDecoder, _ scope: ListScope) throws -> Int64 {
    bind(insert, decoder)
    insert.bind(Int32(columns + 2), sync)
    if tables.parent != nil { insert.bind(Int32(columns + 3), scope.parent) }
    if tables.hasOwnIDs {
      insert.bind(Int32(columns + 4), Value(try reserved?.id(of: decoder.key, in: scope)))
    }
    try insert.run()
    let id = insert.lastID
    for list in lists { try list.add(id, &decoder) }
    added += 1
    if isFirst { return id }
    try words?.add(id)
    try change.run([.integer(id), "added", nil])
    return id
  }

  private mutating func change(_ difference: RecordDifference, decoder: inout RecordDecoder) throws {
    let id = difference.id
    let isIndexed = difference.columns.contains { tables.isSearched[$0] }
    try tellBefore(id)
    if isIndexed { try words?.remove(id) }
    bind(update, decoder)
    update.bind(Int32(columns + 2), sync)
    update.bind(Int32(columns + 3), id)
    try update.run()
    for list in difference.lists { try lists[list].replace(id, decoder: &decoder) }
    if isIndexed { try words?.add(id) }
    change.bind(1, id)
    change.bind(2, "changed")
    try change.run()
    changed += 1
  }

  /// Binds the unchanged record to `change`.
  private func tellBefore(_ id: Int64) throws {
    json.bind(1, id)
    defer { json.reset() }
    if try json.step() { change.bind(3, json.row, 0) }
  }

  private func bind(_ statement: Statement, _ decoder: borrowing RecordDecoder) {
    for column in 0..<columns { statement.bind(Int32(column + 1), decoder.column(column)) }
    statement.bind(Int32(columns + 1), decoder.extra)
  }
}

/// Updates the index of words for a record whose row is added, removed or changed.
private struct WordIndex {
  private let words: Statement
  private let unindex: Statement
  private let index: Statement
  private let columns: Int32

  /// nil if no column is searched.
  init?(_ database: Database, _ tables: ResourceTables) throws {
    guard let words = tables.words, let unindex = tables.unindex, let index = tables.indexRecord else { return nil }
    self.words = try database.statement(words)
    self.unindex = try database.statement(unindex)
    self.index = try database.statement(index)
    columns = Int32(tables.resource.search.count)
  }

  /// Call this while the row still has its old values.
  func remove(_ id: Int64) throws { try tell(unindex, id: id) }

  /// Call this after the row has its new values.
  func add(_ id: Int64) throws { try tell(index, id: id) }

  private func tell(_ statement: Statement, id: Int64) throws {
    words.bind(1, id)
    defer { words.reset() }
    guard try words.step() else { return }
    statement.bind(1, id)
    for column in 0..<columns { statement.bind(column + 2, words.row, column) }
    try statement.run()
  }
}

/// Writes the rows of one list of a record.
private struct ListWriter {
  private let list: Int
  private let columns: Int
  private let hasExtra: Bool
  private let insert: Statement
  private let insertNew: Statement
  private let deleteFrom: Statement

  init(_ database: Database, _ tables: ResourceTables, _ list: Int) throws {
    self.list = list
    let definition = tables.resource.lists[list]
    columns = definition.columns.count
    hasExtra = definition.hasExtra
    insert = try database.statement(tables.insert(definition))
    insertNew = try database.statement(tables.insertNew(definition))
    deleteFrom = try database.statement(tables.deleteFrom(definition))
  }

  func add(_ id: Int64, _ decoder: inout RecordDecoder) throws { _ = try write(insertNew, id, &decoder) }

  func replace(_ id: Int64, decoder: inout RecordDecoder) throws {
    try cut(id, from: write(insert, id, &decoder))
  }

  func cut(_ id: Int64, from position: Int64) throws {
    deleteFrom.bind(1, id)
    deleteFrom.bind(2, position)
    try deleteFrom.run()
  }

  private func write(_ statement: Statement, _ id: Int64, _ decoder: inout RecordDecoder) throws -> Int64 {
    var position: Int64 = 0
    decoder.openList(list)
    while decoder.nextRow() {
      statement.bind(1, id)
      statement.bind(2, position)
      for column in 0..<columns { statement.bind(Int32(column + 3), decoder.rowColumn(column)) }
      if hasExtra { statement.bind(Int32(columns + 3), decoder.rowExtra) }
      try statement.run()
      position += 1
    }
    return position
  }
}
