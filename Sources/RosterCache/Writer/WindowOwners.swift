internal import RosterDecode
internal import RosterModel

/// Decides which window owns a record that several windows list, because upstream includes both bounds (E10.3).
final class WindowOwners {
  /// The record in another window's list.
  enum Owner {
    /// A later window has it.
    case later
    /// An earlier window, which is the record `parent`, has it as the record `id`.
    case earlier(id: Int64, parent: Int64)
  }

  private let windows: Windows
  private let others: Statement
  private let start: Statement
  private let count: Statement
  /// The order of windows, by their record ids.
  private var orders: [Int64: Int64] = [:]

  /// nil unless the parent is made of windows. Records that are parents stay in the list of each window that has them,
  /// because their children belong to a list too.
  init?(of index: Int, in data: PullData) throws {
    let tables = data.tables[index]
    guard tables.isOfWindows, !data.family.hasChildren(index), let windows = tables.resource.each?.windows,
      let parent = data.family.parent(of: index),
      let column = data.plans[parent].resource.windowColumn
    else { return nil }
    self.windows = windows
    others = try data.database.statement(tables.selectBelowOthers)
    let above = data.tables[parent]
    count = try data.database.statement(
      """
      UPDATE main.cache_lists SET records = records - 1 WHERE parent_id = ?1
        AND resource_id = (SELECT id FROM main.cache_resources WHERE name = \(literal(tables.resource.name)))
      """)
    start = try data.database.statement("SELECT \(quoted(column)) FROM \(above.from) WHERE \(above.id) = ?1")
  }

  /// nil if no other window has the record.
  /// - Parameter parent: the record id of the window at hand.
  func owner(besides parent: Int64, key: RecordKey) throws -> Owner? {
    others.bind(1, key)
    others.bind(2, parent)
    defer { others.reset() }
    guard try others.step() else { return nil }
    let (id, other) = (others.row.integer(0), others.row.integer(1))
    return try order(of: other) > order(of: parent) ? .later : .earlier(id: id, parent: other)
  }

  /// Counts a record that left the list of that window.
  func leave(_ parent: Int64) throws { try count.run([.integer(parent)]) }

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
