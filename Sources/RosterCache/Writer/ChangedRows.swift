/// Collects rows of `changes` about changed records, and writes many of them with one statement. SQLite then looks up
/// the end of the table only once for all of them, and writes its highest id once.
struct ChangedRows {
  private static let rows = 64
  /// Larger records are not copied, and no more bytes than these are collected.
  private static let maxBytes = 256 << 10
  /// The number of parameters of one row: the record id, `head`, `rest`, `before` and `after`.
  private static let width = 5

  private let insert: (_ rows: Int) throws -> Statement
  private let single: Statement
  /// Made when it is needed.
  private var many: Statement?
  private var collected: [(id: Int64, difference: TextDifference)] = []
  /// The texts `before` and `after` of each row, one after another, and where each of them ends.
  private var texts: [UInt8] = []
  private var ends: [Int] = []

  /// - Parameter insert: Makes the statement that takes the parameters of this number of rows.
  init(insert: @escaping (_ rows: Int) throws -> Statement) throws {
    self.insert = insert
    single = try insert(1)
  }

  /// The parameters of a row of the statement. texts: `before`, `after`, `head` and `rest`.
  static func parameters(ofRow row: Int) -> (id: String, texts: String) {
    let first = width * row
    return ("?\(first + 1)", [4, 5, 2, 3].map { "?\(first + $0)" }.joined(separator: ", "))
  }

  mutating func add(_ id: Int64, before: [UInt8], after: [UInt8]) throws {
    let difference = TextDifference(of: before, from: after)
    let part = before[difference.part]
    if part.count + after.count > Self.maxBytes { return try write(id, difference, part: part, after: after) }
    collected.append((id, difference))
    texts.append(contentsOf: part)
    ends.append(texts.count)
    texts.append(contentsOf: after)
    ends.append(texts.count)
    if collected.count == Self.rows || texts.count > Self.maxBytes { try write() }
  }

  private mutating func write(
    _ id: Int64, _ difference: TextDifference, part: ArraySlice<UInt8>, after: [UInt8]
  ) throws {
    try write()
    Self.bind(id, difference, to: single, row: 0)
    try part.withUnsafeBufferPointer { part in
      try after.withUnsafeBufferPointer { after in
        single.bind(4, part)
        single.bind(5, after)
        try single.run()
      }
    }
  }

  /// Writes the collected rows.
  mutating func write() throws {
    if collected.isEmpty { return }
    let isFull = collected.count == Self.rows
    let statement = isFull ? try many ?? insert(Self.rows) : single
    if isFull { many = statement }
    try texts.withUnsafeBufferPointer { texts in
      for (index, row) in collected.enumerated() {
        let place = isFull ? index : 0
        Self.bind(row.id, row.difference, to: statement, row: place)
        for part in 0..<2 {
          let text = 2 * index + part
          statement.bind(
            Int32(Self.width * place + 4 + part), texts.extracting((text == 0 ? 0 : ends[text - 1])..<ends[text]))
        }
        if !isFull { try statement.run() }
      }
      if isFull { try statement.run() }
    }
    collected.removeAll(keepingCapacity: true)
    texts.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  private static func bind(_ id: Int64, _ difference: TextDifference, to statement: Statement, row: Int) {
    let first = Int32(width * row)
    statement.bind(first + 1, id)
    statement.bind(first + 2, Int64(difference.head))
    statement.bind(first + 3, Int64(difference.rest))
  }
}
