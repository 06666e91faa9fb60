internal import RosterCore
internal import RosterDecode

/// Decides which window owns a record that several windows list, because upstream includes both bounds. The
/// lists are gone over from the last window to the first one.
final class WindowOwners {
  /// The record in another window's list.
  enum Owner {
    /// A later window has it.
    case later
    /// An earlier window, which is the record `parent`, has it as the record `id`.
    case earlier(id: Int64, parent: Int64)
  }

  private let database: Database
  private let index: Int
  private let windows: Windows
  private let others: Statement
  private let start: Statement
  private let count: Statement
  private let doubt: Statement
  private let claim: Statement
  /// The order of windows, by their record ids.
  private var orders: [Int64: Int64] = [:]
  /// The windows whose pages must be read again.
  private var doubted: Set<Int64> = []
  /// The stored records that their windows do not have any more.
  private var gone: Set<Int64> = []

  /// nil unless the parent is made of windows.
  init?(of index: Int, in data: PullData) throws {
    let tables = data.tables[index]
    guard tables.isOfWindows, let windows = tables.resource.each?.windows, let parent = data.family.parent(of: index),
      let column = data.plans[parent].resource.windowColumn
    else { return nil }
    (database, self.index, self.windows) = (data.database, index, windows)
    let isStored = try data.arePublished(upFrom: index)
    others = try database.statement(isStored ? tables.selectBelowOthers : "SELECT 0, 0 WHERE ?1 = ?2 AND false")
    let above = data.tables[parent]
    let list = """
      parent_id = ?1
        AND resource_id = (SELECT id FROM main.cache_resources WHERE name = \(literal(tables.resource.name)))
      """
    count = try database.statement("UPDATE main.cache_lists SET records = records - 1 WHERE \(list)")
    doubt = try database.statement(
      """
      UPDATE main.cache_pages SET digest = 0, etag = NULL, last_modified = NULL
      WHERE list_id = (SELECT id FROM main.cache_lists WHERE \(list))
      """)
    let new = "SELECT key FROM temp.parents WHERE resource = \(parent) AND record_id = ?1"
    let known = "SELECT \(quoted(column)) FROM \(above.from) WHERE \(above.id) = ?1"
    start = try database.statement(isStored ? "\(new) UNION ALL \(known)" : new)
    claim = try database.statement("INSERT OR IGNORE INTO temp.claimed_keys VALUES (?1, ?2)")
    try database.run("DELETE FROM temp.claimed_keys WHERE resource = ?1", Value(index))
  }

  /// nil if no other window has the record.
  /// - Parameter parent: the record id of the window at hand.
  func owner(besides parent: Int64, key: RecordKey) throws -> Owner? {
    others.bind(1, key)
    others.bind(2, parent)
    defer { others.reset() }
    guard try others.step() else { return nil }
    let (id, other) = (others.row.integer(0), others.row.integer(1))
    if try order(of: other) < order(of: parent) { return .earlier(id: id, parent: other) }
    return isGone(id) ? nil : .later
  }

  /// False if a later window has claimed the new record before. Only a comparison asks, which stores no record.
  func claims(_ key: RecordKey) throws -> Bool {
    claim.bind(1, Int64(index))
    claim.bind(2, key)
    let before = database.totalChanges
    try claim.run()
    return database.totalChanges > before
  }

  /// Notes that the record leaves its window.
  func note(gone id: Int64) { gone.insert(id) }

  /// True if the record leaves its window, so that it cannot be removed once more.
  func isGone(_ id: Int64) -> Bool { gone.contains(id) }

  /// Counts a record that left the list of that window. Its pages are read again when they are next due, so that the
  /// record returns if the later window has lost it.
  func leave(_ parent: Int64) throws {
    try count.run([.integer(parent)])
    if doubted.insert(parent).inserted { try doubt.run([.integer(parent)]) }
  }

  private func order(of window: Int64) throws -> Int64 {
    if let known = orders[window] { return known }
    start.bind(1, window)
    defer { start.reset() }
    // A window without a row is being removed.
    let order = try start.step() ? windows.order(ofStart: start.row.text(0)) ?? .min : .min
    orders[window] = order
    return order
  }
}
