internal import RosterDecode

/// One list of a pull: where its rows are in the temporary tables and in the cache.
struct ListScope {
  /// Position of the resource among the definitions.
  let index: Int
  /// Number of the list in this process; 0 for the only list of a resource.
  let number: Int64
  /// Record id of the parent; 0 for the only list of a resource.
  let parent: Int64
  /// nil if the snapshot does not have the list.
  var list: ListID?
  /// True if only its changed records were pulled.
  let isIncremental: Bool

  /// The parameter with the record id of the parent.
  static let parent = "?4"

  /// The parameters ?1 to ?4 of every statement about a list.
  var values: [Value] { [Value(index), .integer(number), Value(list?.id), .integer(parent)] }
}

extension Statement {
  /// Binds the list that the statement is about.
  func bind(_ scope: ListScope) {
    for (index, value) in scope.values.enumerated() { bind(Int32(index + 1), value) }
  }

  /// Binds a key of a list to the parameters ?1 to ?3, without a copy of the key.
  func bind(_ key: RecordKey, in scope: ListScope) {
    bind(1, Int64(scope.index))
    bind(2, scope.number)
    bind(3, key)
  }
}

extension Database {
  /// Runs a statement about a list. Further values begin with ?5.
  @discardableResult
  func run(_ sql: String, in scope: ListScope, _ values: Value...) throws -> Int {
    let before = totalChanges
    try statement(sql).run(scope.values + values)
    return totalChanges - before
  }

  func rows<Result>(
    _ sql: String, in scope: ListScope, _ values: Value..., read: (Row) throws -> Result
  ) throws -> [Result] {
    try statement(sql).rows(scope.values + values, read: read)
  }

  func first<Result>(
    _ sql: String, in scope: ListScope, _ values: Value..., read: (Row) throws -> Result
  ) throws -> Result? {
    try statement(sql).rows(scope.values + values, limit: 1, read: read).first
  }

  /// Calls `body` for each row, which is valid until the next one.
  func forEach(_ sql: String, in scope: ListScope, body: (Row) throws -> Void) throws {
    try statement(sql).forEach(scope.values, body: body)
  }

  /// The number in the only column of the first row; 0 without a row.
  func count(_ sql: String, in scope: ListScope, _ values: Value...) throws -> Int {
    try statement(sql).rows(scope.values + values, limit: 1) { $0.int(0) }.first ?? 0
  }
}
