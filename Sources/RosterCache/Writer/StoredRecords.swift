internal import RosterDecode
internal import RosterModel

/// Looks up the stored records of one resource. Only this type decides whether a record is unchanged.
struct StoredRecords {
  enum RecordMatch {
    case new
    case same
    case changed(RecordDifference)
  }

  private let select: Statement
  private let columns: Int
  private let lists: [StoredList]

  init(_ database: Database, _ tables: ResourceTables) throws {
    columns = tables.resource.columns.count
    select = try database.statement(tables.select)
    lists = try tables.resource.lists.indices.map { try StoredList(database, tables, $0) }
  }

  /// Compares the record at the decoder's position with the stored one.
  /// - Parameter parent: record id of the parent; 0 without a parent.
  func standing(of decoder: inout RecordDecoder, below parent: Int64) throws -> RecordMatch {
    select.bind(1, decoder.key)
    select.bind(2, parent)
    defer { select.reset() }
    guard try select.step() else { return .new }
    let row = select.row
    var found = RecordDifference(id: row.integer(0))
    found.extra = !row.equals(Int32(columns + 1), decoder.extra)
    for column in 0..<columns where !row.equals(Int32(column + 1), decoder.column(column)) {
      found.columns.append(column)
    }
    select.reset()
    for list in lists where try !list.isEqual(found.id, &decoder) { found.lists.append(list.list) }
    return found.isEmpty ? .same : .changed(found)
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
private struct StoredList {
  let list: Int
  private let columns: Int
  private let hasExtra: Bool
  private let select: Statement

  init(_ database: Database, _ tables: ResourceTables, _ list: Int) throws {
    self.list = list
    let definition = tables.resource.lists[list]
    columns = definition.columns.count
    hasExtra = definition.hasExtra
    select = try database.statement(tables.select(definition))
  }

  func isEqual(_ id: Int64, _ decoder: inout RecordDecoder) throws -> Bool {
    select.bind(1, id)
    defer { select.reset() }
    decoder.openList(list)
    while decoder.nextRow() {
      guard try select.step() else { return false }
      for column in 0..<columns where !select.row.equals(Int32(column), decoder.rowColumn(column)) { return false }
      if hasExtra, !select.row.equals(Int32(columns), decoder.rowExtra) { return false }
    }
    return try !select.step()
  }
}
