internal import RosterCore
internal import RosterDecode

/// Writes records of one resource, one by one, within the publishing transaction. It looks the row up (`StoredRecords`)
/// and writes the differences, with list rows, words of the index and a row in `changes`. An unchanged row is not
/// written.
final class RecordWriter {
  private(set) var added = 0
  private(set) var changed = 0
  private(set) var removed = 0
  /// Numbers of records that have lost their value of a column, or their rows of a list. Lists follow the columns.
  private(set) var emptied: [Int]

  private let database: Database
  private let tables: ResourceTables
  private let sync: Int64
  /// True for the first snapshot of the resource: rows are not looked up, and no changes are written.
  private let isFirst: Bool
  /// True while the index of words is not kept up to date, because `finish` makes all of it.
  private var rebuildsIndex: Bool
  private let stored: StoredRecords
  private let insert: Statement
  /// The statements that write some columns, by the indexes of the columns.
  private var updates: [[Int]: Statement] = [:]
  private static let maxUpdates = 16
  private let delete: Statement
  private let words: WordIndex?
  private let addition: Statement
  private var changes: ChangedRows
  private let removal: Statement
  private let before: RecordDocument
  private let after: RecordDocument
  /// Selects the document by the definition that this publication replaces; nil without one.
  private let former: Statement?
  private let lists: [ListWriter]
  private let columns: Int
  private let isChild: Bool
  private let hasOwnIDs: Bool
  /// Which window owns a record; nil unless the parent is made of windows.
  private let owners: WindowOwners?
  /// Number of records that left the list of another window for the list at hand.
  private(set) var displaced = 0
  /// The record ids that this pull has given to new parents; nil if the resource has no children.
  private let reserved: ReservedIDs?

  init(
    _ database: Database, _ tables: ResourceTables, sync: Int64, at: String, isFirst: Bool,
    reserved: ReservedIDs? = nil, owners: WindowOwners? = nil
  ) throws {
    (self.reserved, self.owners) = (reserved, owners)
    self.database = database
    self.tables = tables
    self.sync = sync
    self.isFirst = isFirst
    rebuildsIndex = isFirst || tables.stored != nil
    former = try tables.stored == nil ? nil : database.once(tables.json)
    columns = tables.resource.columns.count
    emptied = Array(repeating: 0, count: columns + tables.resource.lists.count)
    isChild = tables.parent != nil
    hasOwnIDs = tables.hasOwnIDs
    stored = try StoredRecords(database, tables)
    insert = try database.statement(tables.insert)
    delete = try database.statement(tables.delete)
    words = try WordIndex(database, tables)
    (before, after) = (RecordDocument(tables), RecordDocument(tables))
    // OR FAIL, because SQLite would otherwise copy each page that a statement of many rows writes, to be able to undo
    // that statement alone. Here an error undoes the whole transaction.
    func insertion(_ rows: String) throws -> Statement {
      try database.once(
        """
        INSERT OR FAIL INTO main.cache_changes(sync_id, resource, record_id, kind, at, before, after, head, rest)
        VALUES \(rows)
        """)
    }
    func row(_ kind: ChangeKind, id: String = "?1", _ texts: String) -> String {
      let name = literal(tables.resource.name)
      return "(\(sync), \(name), \(id), \(literal(kind.rawValue)), \(literal(at)), \(texts))"
    }
    addition = try insertion(row(.added, "NULL, ?2, NULL, NULL"))
    changes = try ChangedRows { rows in
      let values = (0..<rows).map(ChangedRows.parameters).map { row(.changed, id: $0.id, $0.texts) }
      return try insertion(values.joined(separator: ", "))
    }
    removal = try insertion(row(.removed, "(\(tables.json)), NULL, NULL, NULL"))
    lists = try tables.resource.lists.indices.map { try ListWriter(database, tables, $0) }
  }

  /// The change of the number of records of the lists at hand. A record that another window lost is counted there.
  var balance: Int { added - removed + displaced }

  /// The effect of writing a record.
  enum Outcome {
    case added(Int64)
    case same
    case changed
    /// A later window has the record.
    case ownedByLater
  }

  /// Writes the record at the decoder's position.
  /// - Parameter scope: The list that the record belongs to.
  @discardableResult
  func write(_ decoder: inout RecordDecoder, of scope: ListScope) throws -> Outcome {
    if let owner = try owners?.owner(besides: scope.parent, key: decoder.key) {
      switch owner {
      case .later: return .ownedByLater
      case .earlier(let id, let parent):
        try leave(id)
        owners?.note(gone: id)
        try owners?.leave(parent)
        displaced += 1
      }
    }
    if isFirst { return .added(try add(&decoder, scope)) }
    let match = try stored.standing(of: &decoder, below: scope.parent) { difference, row, decoder in
      after.write(&decoder, below: scope.parent)
      if let former {
        former.bind(1, difference.id)
        defer { former.reset() }
        guard try former.step() else { throw SQLiteError.damaged("the record \(difference.id) is not there") }
        before.take(former.row.bytes(0))
      } else {
        try before.write(row, lists: stored.lists, difference, from: after)
      }
      if isIndexed(difference) { try keptIndex?.remove(difference.id, row) }
    }
    switch match {
    case .new: return .added(try add(&decoder, scope))
    case .same: return .same
    case .changed(let difference):
      try change(difference, decoder: &decoder)
      return .changed
    }
  }

  /// Removes a record that a later window owns from now on. The first snapshot has no changes.
  private func leave(_ id: Int64) throws {
    guard isFirst else { return try remove(id) }
    for list in lists { try list.cut(id, from: 0) }
    try delete.run([.integer(id)])
    added -= 1
  }

  /// Removes a record that upstream does not list any more.
  func remove(_ id: Int64) throws {
    if owners?.isGone(id) == true { return }
    try changes.write()
    try removal.run([.integer(id)])
    try keptIndex?.remove(id)
    for list in lists { try list.cut(id, from: 0) }
    try delete.run([.integer(id)])
    removed += 1
  }

  /// True if `write` keeps the index of words up to date.
  var keepsIndex: Bool { keptIndex != nil }

  /// How often `write` would add or remove the words of the record at the decoder's position.
  func indexWrites(for decoder: inout RecordDecoder, of scope: ListScope) throws -> Int {
    switch try stored.standing(of: &decoder, below: scope.parent) {
    case .new: 1
    case .same: 0
    case .changed(let difference): isIndexed(difference) ? 2 : 0
    }
  }

  /// Decides whether the index of words is kept up to date. Making the whole index costs less per record than to write
  /// a record's words. Therefore `finish` does that if a list is likely to have more writes than the resource has
  /// records.
  /// - Parameters:
  ///   - writes: the likely number of writes.
  ///   - records: number of records before this publication.
  func planIndex(writes: Int, records: Int) {
    if writes > records + added { rebuildsIndex = true }
  }

  /// Call this after the last record. Makes the whole index of words, after the first snapshot or if most words have
  /// changed.
  func finish() throws {
    try changes.write()
    if rebuildsIndex, let rebuild = tables.rebuildIndex { try database.execute(rebuild) }
    rebuildsIndex = false
  }

  /// The index of words, if it is kept up to date.
  private var keptIndex: WordIndex? { rebuildsIndex ? nil : words }

  private func add(_ decoder: inout RecordDecoder, _ scope: ListScope) throws -> Int64 {
    bind(insert, &decoder)
    insert.bind(Int32(columns + 2), sync)
    if isChild { insert.bind(Int32(columns + 3), scope.parent) }
    if hasOwnIDs {
      insert.bind(Int32(columns + 4), Value(try reserved?.id(of: decoder.key, in: scope)))
    }
    try insert.run()
    let id = insert.lastID
    for list in lists { try list.add(id, &decoder) }
    added += 1
    if isFirst { return id }
    try keptIndex?.add(id, &decoder)
    after.write(&decoder, below: scope.parent)
    try changes.write()
    addition.bind(1, id)
    try after.bytes.withUnsafeBufferPointer { after in
      addition.bind(2, after)
      try addition.run()
    }
    return id
  }

  /// Writes a changed record, whose documents are written and whose old words are removed.
  private func change(_ difference: RecordDifference, decoder: inout RecordDecoder) throws {
    let id = difference.id
    try update(difference, &decoder)
    if isIndexed(difference) { try keptIndex?.add(id, &decoder) }
    for list in difference.lists {
      if try lists[list].replace(id, decoder: &decoder) == 0 { emptied[columns + list] += 1 }
    }
    try changes.add(id, before: before.bytes, after: after.bytes)
    changed += 1
  }

  /// Writes the columns that differ, or all of them if too many statements would be made.
  private func update(_ difference: RecordDifference, _ decoder: inout RecordDecoder) throws {
    var parts = difference.columns
    if difference.extra { parts.append(columns) }
    if updates[parts] == nil, updates.count >= Self.maxUpdates { parts = Array(0...columns) }
    let update = try updates[parts] ?? database.once(tables.update(parts))
    updates[parts] = update
    for part in parts {
      if part < columns {
        let value = decoder.column(part)
        update.bind(Int32(part + 1), value)
        if value.isEmpty { emptied[part] += 1 }
      } else {
        update.bind(Int32(part + 1), decoder.extra)
      }
    }
    update.bind(Int32(columns + 2), sync)
    update.bind(Int32(columns + 3), difference.id)
    try update.run()
  }

  private func isIndexed(_ difference: RecordDifference) -> Bool {
    difference.columns.contains { tables.isSearched[$0] }
  }

  private func bind(_ statement: Statement, _ decoder: inout RecordDecoder) {
    for column in 0..<columns { statement.bind(Int32(column + 1), decoder.column(column)) }
    statement.bind(Int32(columns + 1), decoder.extra)
  }
}

/// Updates the index of words for a record whose row is added, removed or changed.
private struct WordIndex {
  private let words: Statement
  private let unindex: Statement
  private let index: Statement
  /// The searched columns of the definition, with their types.
  private let columns: [(index: Int, type: Resource.ColumnType)]

  /// nil if no column is searched.
  init?(_ database: Database, _ tables: ResourceTables) throws {
    guard let words = tables.words, let unindex = tables.unindex, let index = tables.indexRecord else { return nil }
    self.words = try database.statement(words)
    self.unindex = try database.statement(unindex)
    self.index = try database.statement(index)
    let columns = tables.resource.columns
    self.columns = tables.resource.search.compactMap { name in
      columns.firstIndex { $0.name == name }.map { ($0, columns[$0].type) }
    }
  }

  /// Call this while the row still has its old values.
  func remove(_ id: Int64) throws {
    words.bind(1, id)
    defer { words.reset() }
    guard try words.step() else { return }
    try remove(id) { words.row.value(Int32($0), of: columns[$0].type) }
  }

  /// The same for a row of `ResourceTables.select`.
  func remove(_ id: Int64, _ row: Row) throws {
    try remove(id) { row.value(Int32(columns[$0].index + 1), of: columns[$0].type) }
  }

  private func remove(_ id: Int64, value: (Int) -> FieldValue) throws {
    unindex.bind(1, id)
    for column in columns.indices { unindex.bind(Int32(column + 2), value(column)) }
    try unindex.run()
  }

  /// Adds the words of the record at the decoder's position.
  func add(_ id: Int64, _ decoder: inout RecordDecoder) throws {
    index.bind(1, id)
    for (column, place) in columns.enumerated() { index.bind(Int32(column + 2), decoder.column(place.index)) }
    try index.run()
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

  /// Returns the number of rows.
  func replace(_ id: Int64, decoder: inout RecordDecoder) throws -> Int64 {
    let rows = try write(insert, id, &decoder)
    try cut(id, from: rows)
    return rows
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
