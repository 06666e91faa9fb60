internal import RosterDecode
internal import RosterModel

/// The part of a list's question that can change while its parent stays the same record.
extension Family {
  /// The columns of ancestors that the question of a list depends on. A column of a key does not count: another key is
  /// another parent. Without `since` a page of another address is another page, so that only `where` counts.
  func questionColumns(_ index: Int) -> [ParentColumn] {
    let resource = tables[index].resource
    let columns = resource.parentColumns.filter { use in
      use.key != "by_key" && (resource.since != nil || use.key == "where") && !isOfKey(use.column)
    }
    return columns.map(\.column).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  private func isOfKey(_ column: ParentColumn) -> Bool {
    let ancestor = tables.first { $0.resource.name == column.resource }
    guard let resource = ancestor?.resource, !resource.isDetail else { return false }
    return resource.keyColumns?.contains { resource.columns[$0].name == column.column } ?? false
  }
}

extension Cache {
  /// Digest of the question of a list: that of `since`, with the values of `Family.questionColumns`. 0 without both.
  /// - Parameter list: number of the list; 0 for the only list of a resource.
  func question(of resource: String, list: Int64, _ database: Database) throws -> Int64 {
    let question = try question(of: resource, database)
    let columns = try questionColumns(of: resource)
    if columns.isEmpty || list == 0 { return question }
    return try Self.question(question, columns, list: list, in: database)
  }

  /// Digest of all that kept pages of a list depend on: its question, and the parent's columns of `changed`. The list
  /// changes with these columns, so that its earlier pages do not belong to it any more (E8.1).
  func keptQuestion(of resource: String, list: Int64, _ database: Database) throws -> Int64 {
    let question = try question(of: resource, list: list, database)
    guard list != 0, plans[try index(of: resource)].resource.each?.changed.isEmpty == false else { return question }
    let asked = try database.first("SELECT asked FROM temp.lists WHERE list = ?1", .integer(list)) {
      $0.optionalText(0)
    }
    let digest = try Self.digest(database)(Array("\(question) \((asked ?? nil) ?? "")".utf8))
    return digest == 0 ? 1 : digest
  }

  /// The columns are searched for once in a pull (`Family.questionColumns`).
  func questionColumns(of resource: String) throws -> [ParentColumn] {
    if let known = pull.questionColumns[resource] { return known }
    let columns = Family(tables: schema.tables).questionColumns(try index(of: resource))
    pull.questionColumns[resource] = columns
    return columns
  }

  static func question(
    _ question: Int64, _ columns: [ParentColumn], list: Int64, in database: Database
  ) throws -> Int64 {
    if columns.isEmpty { return question }
    let facts = try database.first("SELECT facts FROM temp.lists WHERE list = ?1", .integer(list)) {
      $0.optionalText(0)
    }
    return try self.question(question, columns, facts: (facts ?? nil) ?? "", in: database)
  }

  /// - Parameter facts: JSON of `ParentValues`.
  static func question(
    _ question: Int64, _ columns: [ParentColumn], facts: String, in database: Database
  ) throws -> Int64 {
    if columns.isEmpty { return question }
    let values = ParentValues(json: facts.utf8) ?? ParentValues([])
    let own = ParentValues(columns.map { .init($0, values[$0]) })
    let digest = try digest(database)(Array("\(question) \(own.json)".utf8))
    return digest == 0 ? 1 : digest
  }
}
