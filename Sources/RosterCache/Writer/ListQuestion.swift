internal import RosterCore
internal import RosterDecode

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

  /// True for a column of an ancestor's key. Another value is another ancestor.
  func isOfKey(_ column: ParentColumn) -> Bool {
    let ancestor = tables.first { $0.resource.name == column.resource }
    guard let resource = ancestor?.resource, !resource.isDetail else { return false }
    return resource.keyColumns?.contains { resource.columns[$0].name == column.column } ?? false
  }
}

/// The questions of the lists of one resource.
struct ListQuestions {
  /// Digest of the question of `since`; 0 without it.
  let common: Int64
  /// The columns of `Family.questionColumns`.
  let columns: [ParentColumn]
  private let database: Database
  private let digest: PageDigest

  init(_ index: Int, of family: Family, in database: Database) throws {
    self.database = database
    columns = family.questionColumns(index)
    digest = try database.pageDigest()
    let tables = family.tables[index]
    let question = tables.resource.sinceQuestion
    // Marks and pages of an earlier definition belong to another question.
    common = (tables.isWaiting ? question.map { "another \($0)" } : question).map(digest.ofQuestion) ?? 0
  }

  /// Digest of the question of a list: that of `since`, with the values of `columns`. 0 without both.
  /// - Parameter list: number of the list; 0 for the only list of a resource.
  func digest(list: Int64) throws -> Int64 {
    if columns.isEmpty { return common }
    return digest(facts: try listText("facts", of: list))
  }

  /// - Parameter facts: JSON of `ParentValues`.
  func digest(facts: String) -> Int64 {
    if columns.isEmpty { return common }
    let values = ParentValues(json: facts.utf8) ?? ParentValues([])
    let own = ParentValues(columns.map { .init($0, values[$0]) })
    return digest.ofQuestion("\(common) \(own.json)")
  }

  /// Digest of all that kept pages of a list depend on: its question, and the parent's columns of `changed`. The list
  /// changes with these columns, so that its earlier pages do not belong to it any more.
  func keptDigest(list: Int64, changed: [String]) throws -> Int64 {
    let question = try digest(list: list)
    if changed.isEmpty { return question }
    return digest.ofQuestion("\(question) \(try listText("asked", of: list))")
  }

  private func listText(_ column: String, of list: Int64) throws -> String {
    try database.first("SELECT \(column) FROM temp.lists WHERE list = ?1", .integer(list)) { $0.text(0) } ?? ""
  }
}

extension PageDigest {
  /// Never 0, which means no question.
  fileprivate func ofQuestion(_ text: String) -> Int64 {
    let digest = self(Array(text.utf8))
    return digest == 0 ? 1 : digest
  }
}

extension Database {
  /// Makes the digests of this cache.
  func pageDigest() throws -> PageDigest {
    PageDigest(key: try first("SELECT digest_key FROM main.cache_identity") { $0.bytes(0) } ?? [])
  }
}
