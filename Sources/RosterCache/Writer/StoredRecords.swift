internal import RosterCore
internal import RosterDecode

/// Looks up the stored records of one resource. Only this type decides whether a record is unchanged.
struct StoredRecords {
  enum RecordMatch {
    case new
    case same
    case changed(RecordDifference)
  }

  private let select: Statement
  private let columns: Int
  /// True if a publication gives the documents other members: each record is in `changes` then.
  private let hasOtherMembers: Bool
  /// The lists of the definition.
  let lists: [StoredList]

  init(_ database: Database, _ tables: ResourceTables) throws {
    columns = tables.resource.columns.count
    hasOtherMembers = tables.stored.map { $0.members != tables.members } ?? false
    select = try database.statement(tables.select)
    lists = try tables.resource.lists.indices.map { try StoredList(database, tables, $0) }
  }

  /// Compares the record at the decoder's position with the stored one.
  /// - Parameters:
  ///   - parent: record id of the parent; 0 without a parent.
  ///   - whenChanged: Receives the row of a changed record as long as its values are valid: the id, then the columns of
  ///     `ResourceTables.written`.
  func standing(
    of decoder: inout RecordDecoder, below parent: Int64,
    whenChanged: (RecordDifference, Row, inout RecordDecoder) throws -> Void = { _, _, _ in }
  ) throws -> RecordMatch {
    select.bind(1, decoder.key)
    select.bind(2, parent)
    defer { select.reset() }
    guard try select.step() else { return .new }
    let row = select.row
    var found = difference(row, &decoder)
    for list in lists where try !list.isEqual(found.id, &decoder) { found.lists.append(list.list) }
    if try !hasOtherMembers && (found.isEmpty || isOnlyOrder(found, row, &decoder)) { return .same }
    try whenChanged(found, row, &decoder)
    return .changed(found)
  }

  /// The differences of all but the lists.
  private func difference(_ row: Row, _ decoder: inout RecordDecoder) -> RecordDifference {
    var found = RecordDifference(id: row.integer(0))
    found.extra = !row.equals(Int32(columns + 1), json: decoder.extra)
    for column in 0..<columns where !row.equals(Int32(column + 1), decoder.column(column)) {
      found.columns.append(column)
    }
    return found
  }

  /// True if the parts that differ have only another order of members.
  private func isOnlyOrder(_ found: RecordDifference, _ row: Row, _ decoder: inout RecordDecoder) throws -> Bool {
    for column in found.columns where !row.equals(Int32(column + 1), decoder.column(column), ignoresOrder: true) {
      return false
    }
    if found.extra, !row.equals(Int32(columns + 1), json: decoder.extra, ignoresOrder: true) { return false }
    for list in found.lists where try !lists[list].isEqual(found.id, &decoder, ignoresOrder: true) { return false }
    return true
  }
}

/// The differences between a record and the stored one.
struct RecordDifference {
  var id: Int64
  /// Indexes of the definition's columns that differ.
  var columns: [Int] = []
  var extra = false
  /// Indexes of the definition's lists that differ.
  var lists: [Int] = []

  var isEmpty: Bool { columns.isEmpty && !extra && lists.isEmpty }
}

/// The rows of one list of a record.
struct StoredList {
  let list: Int
  private let columns: Int
  private let hasExtra: Bool
  private let select: Statement

  fileprivate init(_ database: Database, _ tables: ResourceTables, _ list: Int) throws {
    self.list = list
    let definition = tables.resource.lists[list]
    columns = definition.columns.count
    hasExtra = definition.hasExtra
    select = try database.statement(tables.select(definition))
  }

  /// Calls `body` with each row of a record: the columns of `ResourceTables.written`.
  func forEachRow(of id: Int64, body: (Row) -> Void) throws {
    select.bind(1, id)
    defer { select.reset() }
    while try select.step() { body(select.row) }
  }

  fileprivate func isEqual(_ id: Int64, _ decoder: inout RecordDecoder, ignoresOrder: Bool = false) throws -> Bool {
    select.bind(1, id)
    defer { select.reset() }
    decoder.openList(list)
    while decoder.nextRow() {
      guard try select.step() else { return false }
      let row = select.row
      for column in 0..<columns where !row.equals(Int32(column), decoder.rowColumn(column), ignoresOrder: ignoresOrder)
      {
        return false
      }
      if hasExtra, !row.equals(Int32(columns), json: decoder.rowExtra, ignoresOrder: ignoresOrder) { return false }
    }
    return try !select.step()
  }
}
