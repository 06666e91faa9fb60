/// Collects rows of `changes` about changed records, and writes many of them with one statement. SQLite then looks up
/// the end of the table only once for all of them, and writes its highest id once.
struct ChangedRows {
  private static let rows = 64
  /// Larger records are not copied, and no more bytes than these are collected.
  private static let maxBytes = 256 << 10

  private let insert: (_ rows: Int) throws -> Statement
  private let single: Statement
  /// Made when it is needed.
  private var many: Statement?
  private var ids: [Int64] = []
  /// The documents before and after each change, one after another, and where each of them ends.
  private var documents: [UInt8] = []
  private var ends: [Int] = []

  /// - Parameter insert: Makes the statement for this number of rows. It takes the record id, the document before and
  ///   the document after of each row.
  init(insert: @escaping (_ rows: Int) throws -> Statement) throws {
    self.insert = insert
    single = try insert(1)
  }

  mutating func add(_ id: Int64, before: [UInt8], after: [UInt8]) throws {
    if before.count + after.count > Self.maxBytes { return try write(id, before: before, after: after) }
    ids.append(id)
    for document in [before, after] {
      documents.append(contentsOf: document)
      ends.append(documents.count)
    }
    if ids.count == Self.rows || documents.count > Self.maxBytes { try write() }
  }

  private mutating func write(_ id: Int64, before: [UInt8], after: [UInt8]) throws {
    try write()
    try before.withUnsafeBufferPointer { before in
      try after.withUnsafeBufferPointer { after in
        single.bind(1, id)
        single.bind(2, before)
        single.bind(3, after)
        try single.run()
      }
    }
  }

  /// Writes the collected rows.
  mutating func write() throws {
    if ids.isEmpty { return }
    let isFull = ids.count == Self.rows
    let statement = isFull ? try many ?? insert(Self.rows) : single
    if isFull { many = statement }
    try documents.withUnsafeBufferPointer { documents in
      for index in ids.indices {
        let first = isFull ? 3 * Int32(index) : 0
        statement.bind(first + 1, ids[index])
        for part in 0..<2 {
          let document = 2 * index + part
          statement.bind(
            first + 2 + Int32(part), documents.extracting((document == 0 ? 0 : ends[document - 1])..<ends[document]))
        }
        if !isFull { try statement.run() }
      }
      if isFull { try statement.run() }
    }
    ids.removeAll(keepingCapacity: true)
    documents.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }
}
