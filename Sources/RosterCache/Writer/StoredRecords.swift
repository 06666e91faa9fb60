internal import RosterDecode
internal import RosterModel

/// Looks up what the snapshot has of the records of one resource: the one place that says whether a record is as it
/// was.
struct StoredRecords {
  enum Standing {
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

  /// Of the record that the decoder is at.
  func standing(of decoder: inout RecordDecoder) throws -> Standing {
    select.bind(1, decoder.key)
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

/// In what a record differs from the stored one.
struct RecordDifference {
  /// Its record id.
  var id: Int64
  /// Of the definition's columns.
  var columns: [Int] = []
  var extra = false
  /// Of the definition's lists.
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
