internal import RosterCore
internal import RosterDecode

/// The data of a pull on one connection, that of the writer or of a reader.
struct PullData {
  let database: Database
  let file: Staging
  var tables: [ResourceTables]
  let plans: [RecordPlan]
  /// The finished comparisons of resources without parents, by resource.
  var compared: [String: ResourceComparison] = [:]
  var interruption = Interruption()
  var tick: () -> Void = {}

  var family: Family { Family(tables: tables) }

  /// The only list of a resource.
  func scope(_ index: Int, isIncremental: Bool) throws -> ListScope {
    ListScope(
      index: index, number: 0, parent: 0, list: try listID(index, parent: 0), isIncremental: isIncremental)
  }

  /// nil if the snapshot does not have the list, or if another definition ends it.
  private func listID(_ index: Int, parent: Int64) throws -> ListID? {
    tables[index].keepsRecords ? try ListID(plans[index].resource.name, parent: parent, in: database) : nil
  }

  /// Call this for every page that is read. Throws CancellationError after an interruption.
  func onPage() throws {
    tick()
    if interruption.isWanted { throw CancellationError() }
  }

  /// True if the cache has the tables of the resource and of all its ancestors. An ancestor that was added to the
  /// configuration has none before its first publication, and then no record below it is stored.
  func arePublished(upFrom index: Int) throws -> Bool {
    guard try database.hasTable(of: plans[index].resource.name) else { return false }
    return try family.parent(of: index).map { try arePublished(upFrom: $0) } ?? true
  }

  /// The places in `next` of the pages that are part of this pull, by their numbers.
  func places(of scope: ListScope) throws -> [Int64] {
    try database.rows(
      "SELECT place FROM temp.pulled WHERE resource = ?1 AND list = ?2 AND number IS NOT NULL ORDER BY number",
      in: scope
    ) { $0.integer(0) }
  }

  /// Goes over the lists of a resource that this pull has read completely, with their comparisons. Memory does not grow
  /// with the number of all lists.
  /// - Parameter goesOn: False to end early.
  func forEachList(
    of index: Int, while goesOn: () -> Bool = { true }, body: (ListScope, ResourceComparison) throws -> Void
  ) throws {
    let name = plans[index].resource.name
    guard plans[index].resource.each != nil else {
      guard let found = compared[name] else { return }
      return try body(scope(index, isIncremental: found.isIncremental), found)
    }
    try forEachComplete(of: index, while: goesOn) { try body($0.scope, $0.found) }
  }

  /// The same for the lists of a child.
  func forEachComplete(
    of index: Int, while goesOn: () -> Bool = { true }, body: (CompleteList) throws -> Void
  ) throws {
    var last: Int64 = -1
    while goesOn(), case let lists = try completeLists(at: index, after: last), let end = lists.last {
      for list in lists where goesOn() { try body(list) }
      last = end.scope.number
    }
  }

  /// The same in the order of their publication.
  func forEachListToPublish(of index: Int, body: (ListScope, ResourceComparison) throws -> Void) throws {
    guard tables[index].isOfWindows else { return try forEachList(of: index, body: body) }
    try forEachCompleteWindow(of: index) { try body($0.scope, $0.found) }
  }

  /// The same for a child of windows, from the last window to the first one.
  func forEachCompleteWindow(of index: Int, body: (CompleteList) throws -> Void) throws {
    let numbers = try database.rows(
      "SELECT list FROM temp.lists WHERE \(ParentTables.State.isNextComplete) ORDER BY parent DESC", Value(index),
      .integer(-1)
    ) { $0.integer(0) }
    for number in numbers {
      for list in try completeLists(at: index, after: number - 1, limit: 1) { try body(list) }
    }
  }

  /// - Parameter last: The list before them; less than 0 to begin.
  private func completeLists(at index: Int, after last: Int64, limit: Int = Self.portion) throws -> [CompleteList] {
    let name = plans[index].resource.name
    return try database.rows(
      """
      SELECT list, parent, start IS NOT NULL, found, asked, answered, path,
        state = \(ParentTables.State.empty.rawValue), mark, token, is_weak FROM temp.lists
      WHERE \(ParentTables.State.isNextComplete) ORDER BY list LIMIT \(limit)
      """, Value(index), .integer(last)
    ) { row in
      let scope = ListScope(
        index: index, number: row.integer(0), parent: row.integer(1),
        list: try listID(index, parent: row.integer(1)), isIncremental: row.int(2) != 0)
      return CompleteList(
        scope: scope, found: ResourceComparison(resource: name, row.bytes(3)), asked: row.text(4),
        answered: row.optionalReal(5), path: row.text(6), isEmpty: row.int(7) != 0, mark: row.optionalText(8),
        token: row.optionalText(9), isWeak: row.int(10) != 0)
    }
  }

  /// Number of lists that are read at a time.
  private static let portion = 256

  /// Notes the comparison of a list of a child.
  func note(_ found: ResourceComparison, of scope: ListScope) throws {
    let note = try database.statement("UPDATE temp.lists SET found = ?2 WHERE list = ?1")
    note.bind(1, scope.number)
    note.bind(2, blob: found.bytes)
    try note.run()
  }
}

/// A list of a child that this pull has read completely.
struct CompleteList {
  var scope: ListScope
  var found: ResourceComparison
  /// JSON of the parent's `changed` columns.
  var asked: String
  /// `Date` of its last answer, in seconds since 1970; nil if no answer was needed.
  var answered: Double?
  /// JSON list of the keys of its ancestors.
  var path: String
  /// True if it is empty without a pull, or by the answer to an incremental one.
  var isEmpty: Bool
  /// The mark or the delta token after the pull; nil if the old one stays.
  var mark: String?
  var token: String?
  /// True if its incremental pull drifted too often.
  var isWeak: Bool

  func move(_ since: Since?) -> Since.MarkMove {
    if let token { return .token(token) }
    return mark.flatMap { since?.mark($0) }.map { .moves($0) } ?? .stays
  }
}
