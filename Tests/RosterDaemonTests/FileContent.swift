import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

/// The pages and rows of a cache without a writer, for a comparison with another time.
struct FileContent {
  /// Each page's bytes, from page 1.
  private let pages: [Data]
  /// The name of the table or index that a page belongs to (sqlite.org/dbstat.html).
  private let owners: [Int: String]
  private let rows: [String: Set<String>]

  init(of path: String) throws {
    let reader = try Database(path: path, access: .readOnly)
    let size = try #require(try reader.first("PRAGMA page_size") { $0.int(0) })
    // The frames of the log are not in the file yet.
    #expect(fileSize(path + "-wal") == 0)
    let bytes = try Data(contentsOf: URL(filePath: path))
    pages = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
    owners = Dictionary(
      uniqueKeysWithValues: try reader.rows("SELECT pageno, name FROM dbstat") { ($0.int(0), $0.text(1)) })
    let tables = try reader.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ) { $0.text(0) }
    var rows: [String: Set<String>] = [:]
    for table in tables {
      let columns = try reader.rows("SELECT name FROM pragma_table_info('\(table)')") { "quote(\"\($0.text(0))\")" }
      rows[table] = Set(
        try reader.rows("SELECT \(columns.joined(separator: " || '|' || ")) FROM \"\(table)\"") { $0.text(0) })
    }
    self.rows = rows
  }

  /// Number of changed pages of each table and index; free pages have the name `free`. Page 1 counts only if more than
  /// the file's own counters differs.
  func pagesChanged(since before: FileContent) -> [String: Int] {
    var changed: [String: Int] = [:]
    for index in 0..<max(pages.count, before.pages.count) {
      let now = index < pages.count ? pages[index] : nil
      let then = index < before.pages.count ? before.pages[index] : nil
      let header = index == 0 ? Self.header : 0
      if now?.dropFirst(header) == then?.dropFirst(header) { continue }
      changed[owners[index + 1] ?? "free", default: 0] += 1
    }
    return changed
  }

  /// Numbers of inserted and deleted rows of each table; an updated row counts as both.
  func rowsChanged(since before: FileContent) -> [String: [Int]] {
    var changed: [String: [Int]] = [:]
    for (table, now) in rows {
      let then = before.rows[table] ?? []
      if now != then { changed[table] = [now.subtracting(then).count, then.subtracting(now).count] }
    }
    return changed
  }

  /// The file's change counter and size (sqlite.org/fileformat2.html#the_database_header).
  private static let header = 100
}
