import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

/// The pages written while it watches, including unchanged ones: a reader with an open transaction keeps them in the
/// log (sqlite.org/fileformat2.html#the_write_ahead_log).
struct WrittenPages {
  private let path: String
  private let reader: Database
  private let before: Int64

  init(of path: String) throws {
    self.path = path
    before = fileSize(path + "-wal")
    reader = try Database(path: path, access: .readOnly)
    try reader.execute("BEGIN")
    _ = try reader.first("SELECT count(*) FROM syncs") { $0.int(0) }
  }

  /// Number of written pages of each table and index, by name.
  func count() throws -> [String: Int] {
    let pages = Set(try frames().map(\.page))
    let now = try Database(path: path, access: .readOnly)
    let owners = try now.rows("SELECT pageno, name FROM dbstat") { ($0.int(0), $0.text(1)) }
    return Dictionary(owners.filter { pages.contains($0.0) }.map { ($0.1, 1) }, uniquingKeysWith: +)
  }

  /// Number of transactions that wrote them.
  func commits() throws -> Int { try frames().count(where: \.isCommit) }

  private func frames() throws -> [(page: Int, isCommit: Bool)] {
    try #require(before == 0)
    let log = try Data(contentsOf: URL(filePath: path + "-wal"))
    func number(_ offset: Int) -> Int { log[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    let step = Self.frameHeader + number(Self.pageSize)
    return stride(from: Self.header, to: log.count, by: step).map { (number($0), number($0 + Self.size) != 0) }
  }

  private static let header = 32
  /// Offset of the page size in the log's header.
  private static let pageSize = 8
  private static let frameHeader = 24
  /// Offset of the file's size in a frame; only the last frame of a transaction has it.
  private static let size = 4
}
