/// Collects rows of `changes` about changed records, and writes many of them with one statement. SQLite then looks up
/// the end of the table only once for all of them, and writes its highest id once.
struct ChangedRows {
  private static let rows = 64
  /// Rows of large records are not collected beyond this memory.
  private static let maxBytes = 256 << 10

  private let single: Statement
  private let many: Statement
  private var ids: [Int64] = []
  /// The documents before and after each change, one after another, and where each of them ends.
  private var documents: [UInt8] = []
  private var ends: [Int] = []

  /// - Parameter statement: Makes an INSERT whose values are these rows.
  init(_ statement: (String) throws -> Statement, row: (_ id: Int, _ before: Int, _ after: Int) -> String) rethrows {
    func values(_ rows: Int) -> String {
      (0..<rows).map { row(3 * $0 + 1, 3 * $0 + 2, 3 * $0 + 3) }.joined(separator: ", ")
    }
    single = try statement(values(1))
    many = try statement(values(Self.rows))
  }

  mutating func add(_ id: Int64, before: [UInt8], after: [UInt8]) throws {
    ids.append(id)
    for document in [before, after] {
      documents.append(contentsOf: document)
      ends.append(documents.count)
    }
    if ids.count == Self.rows || documents.count > Self.maxBytes { try write() }
  }

  /// Writes the collected rows.
  mutating func write() throws {
    if ids.isEmpty { return }
    try documents.withUnsafeBufferPointer { documents in
      let isFull = ids.count == Self.rows
      let statement = isFull ? many : single
      for index in ids.indices {
        let first = isFull ? 3 * Int32(index) : 0
        statement.bind(first + 1, ids[index])
        for part in 0..<2 {
          let document = 2 * index + part
          statement.bind(
            first + 2 + Int32(part), documents.extracting((document == 0 ? 0 : ends[document - 1])..<ends[document]))
        }
        if !isFull { try single.run() }
      }
      if isFull { try many.run() }
    }
    ids.removeAll(keepingCapacity: true)
    documents.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }
}
