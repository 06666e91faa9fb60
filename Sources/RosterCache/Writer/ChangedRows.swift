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

/// The part in which a text differs from another one. Both are UTF-8, and the part has only whole characters. Here a
/// character is a Unicode scalar, as SQLite counts (sqlite.org/lang_corefunc.html#substr).
struct TextDifference: Equatable {
  /// The bytes of the text that differ.
  let part: Range<Int>
  /// The number of characters before the part, which are those of the other text.
  let head: Int
  /// The number of the character of the other text, counted from 1, with which the same text goes on after the part.
  let rest: Int

  init(of text: [UInt8], from other: [UInt8]) {
    (part, head, rest) = text.withUnsafeBytes { text in
      other.withUnsafeBytes { other in
        let start = Self.commonStart(text, other)
        let end = Self.commonEnd(text, other, atMost: min(text.count, other.count) - start)
        let head = Self.characters(other[..<start])
        let rest = head + Self.characters(other[start..<other.count - end]) + 1
        return (start..<text.count - end, head, rest)
      }
    }
  }

  private static func commonStart(_ text: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int {
    let limit = min(text.count, other.count)
    var count = 0
    while count + 8 <= limit, word(text, count) == word(other, count) { count += 8 }
    while count < limit, text[count] == other[count] { count += 1 }
    while continues(text, count) || continues(other, count) { count -= 1 }
    return count
  }

  private static func commonEnd(
    _ text: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer, atMost limit: Int
  ) -> Int {
    var count = 0
    while count + 8 <= limit, word(text, text.count - count - 8) == word(other, other.count - count - 8) { count += 8 }
    while count < limit, text[text.count - count - 1] == other[other.count - count - 1] { count += 1 }
    while continues(text, text.count - count) { count -= 1 }
    return count
  }

  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  /// True if a character does not begin at this byte (RFC 3629).
  private static func continues(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    offset < bytes.count && bytes[offset] & 0xC0 == 0x80
  }

  private static func characters(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
    bytes.reduce(into: 0) { count, byte in if byte & 0xC0 != 0x80 { count += 1 } }
  }
}
