import RosterJSON

/// Reads JSON (RFC 8259) strictly, from the front, without building a tree: fields that have no column keep their bytes
/// (P10), and a page costs a sixth of what JSONDecoder takes.
struct JSONReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private(set) var offset = 0
  private var depth = 0
  /// The most levels that were open at once since `countLevels` was called.
  private var reached = 0

  /// Throws where the bytes are not UTF-8: all at once, which costs a small part of what each string by itself does.
  init(_ bytes: UnsafeBufferPointer<UInt8>) throws(Malformed) {
    self.bytes = bytes
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: bytes.span)
    } catch {
      throw Malformed(offset: error.byteOffsets.lowerBound, expected: "UTF-8")
    }
  }

  func malformed(_ expected: String) -> Malformed {
    Malformed(offset: offset, expected: expected)
  }

  /// Counts levels from here on: the next list or object is the first.
  mutating func countLevels<Value>(
    of value: (inout JSONReader) throws(Malformed) -> Value
  ) throws(Malformed) -> (value: Value, levels: Int) {
    reached = depth
    let before = depth
    let value = try value(&self)
    return (value, reached - before)
  }

  /// The first byte of the next value; nil at the end.
  mutating func peek() -> UInt8? {
    skipSpace()
    return current
  }

  /// Calls `member` with each name; it must read the value.
  mutating func object(_ member: (inout JSONReader, Name) throws(Malformed) -> Void) throws(Malformed) {
    try open("{", "an object")
    if take("}") {
      depth -= 1
      return
    }
    repeat {
      let name = try name()
      try require(":")
      try member(&self, name)
    } while take(",")
    try require("}")
    depth -= 1
  }

  /// Calls `element` before each element; it must read the value.
  mutating func array(_ element: (inout JSONReader) throws(Malformed) -> Void) throws(Malformed) {
    try open("[", "a list")
    if take("]") {
      depth -= 1
      return
    }
    repeat { try element(&self) } while take(",")
    try require("]")
    depth -= 1
  }

  mutating func string() throws(Malformed) -> String {
    let (content, escaped) = try stringContent()
    if escaped { return try unescaped(content) }
    return String(decoding: bytes[content], as: UTF8.self)
  }

  /// Digits with an optional minus; nil, nothing read, where the value is any other or does not fit.
  mutating func integer() -> Int64? {
    skipSpace()
    let negative = current == UInt8(ascii: "-")
    var at = offset + (negative ? 1 : 0)
    let first = at
    var value: Int64 = 0
    while at < bytes.count, case let digit = bytes[at] &- 0x30, digit < 10 {
      let (shifted, over) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = shifted.addingReportingOverflow(Int64(digit))
      if over || carry { return nil }
      value = sum
      at += 1
    }
    let leadingZero = at > first + 1 && bytes[first] == 0x30
    let goesOn = at < bytes.count && [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(bytes[at])
    if at == first || leadingZero || goesOn { return nil }
    offset = at
    return negative ? -value : value
  }

  /// Reads a value of any kind and gives its bytes' place. Not by recursion: how deep it nests is upstream's choice,
  /// and the stack of a task is small.
  @discardableResult
  mutating func skip() throws(Malformed) -> Range<Int> {
    guard peek() != nil else { throw malformed("a value") }
    let start = offset
    /// What ends each open list or object, the innermost last.
    var ends: [Unicode.Scalar] = []
    while true {
      if let end = try skipStart(inside: ends.count) {
        ends.append(end)
        continue
      }
      while let end = ends.last, !take(",") {
        try require(end)
        ends.removeLast()
      }
      guard let end = ends.last else { return start..<offset }
      if end == "}" { try skipName() }
    }
  }

  /// Reads a whole value, or up to the first value of a list or object: then says what ends that.
  private mutating func skipStart(inside open: Int) throws(Malformed) -> Unicode.Scalar? {
    switch peek() {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      let isObject = take("{")
      if !isObject { _ = take("[") }
      reached = max(reached, depth + open + 1)
      let end: Unicode.Scalar = isObject ? "}" : "]"
      if take(end) { return nil }
      if isObject { try skipName() }
      return end
    case UInt8(ascii: "\""):
      let (content, escaped) = try stringContent()
      if escaped { _ = try unescaped(content) }
    case UInt8(ascii: "t"): try literal("true")
    case UInt8(ascii: "f"): try literal("false")
    case UInt8(ascii: "n"): try literal("null")
    default: try number()
    }
    return nil
  }

  private mutating func skipName() throws(Malformed) {
    _ = try name()
    try require(":")
  }

  /// Reads `null` if it is next.
  mutating func null() throws(Malformed) -> Bool {
    guard peek() == UInt8(ascii: "n") else { return false }
    try literal("null")
    return true
  }

  mutating func end() throws(Malformed) {
    if peek() != nil { throw malformed("the end") }
  }

  /// The text of bytes that `skip` has read.
  func text(_ range: Range<Int>) -> String {
    String(decoding: bytes[range], as: UTF8.self)
  }

  /// The same without insignificant white space, so that only what upstream means makes a difference.
  func compactText(_ range: Range<Int>) -> String {
    var quoted = false
    var escaped = false
    var kept: [UInt8] = []
    kept.reserveCapacity(range.count)
    for byte in bytes[range] {
      if quoted || !Self.isSpace(byte) { kept.append(byte) }
      if byte == UInt8(ascii: "\""), !escaped { quoted.toggle() }
      escaped = byte == UInt8(ascii: "\\") && !escaped
    }
    return String(decoding: kept, as: UTF8.self)
  }
}

extension JSONReader {
  /// A member's name; those that rosterd knows fit in eight bytes and are compared as one number.
  struct Name: Equatable {
    /// 0 for a longer one.
    private let packed: UInt64
    /// As it stands between the quotes, escapes and all.
    let raw: Range<Int>

    fileprivate init(packed: UInt64, raw: Range<Int>) {
      self.packed = packed
      self.raw = raw
    }

    init(_ text: StaticString) {
      let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
      self.init(packed: Self.pack(bytes[...]), raw: 0..<0)
    }

    static func == (one: Name, other: Name) -> Bool { one.packed == other.packed }
    static func ~= (pattern: Name, value: Name) -> Bool { pattern == value }

    fileprivate static func pack(_ bytes: some Collection<UInt8>) -> UInt64 {
      bytes.count > 8 ? 0 : bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  private mutating func name() throws(Malformed) -> Name {
    if peek() != UInt8(ascii: "\"") { throw malformed("a name in quotes") }
    let (content, escaped) = try stringContent()
    if escaped { return Name(packed: Name.pack(try unescaped(content).utf8), raw: content) }
    return Name(packed: Name.pack(bytes[content]), raw: content)
  }
}

extension JSONReader {
  private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private mutating func skipSpace() {
    while offset < bytes.count, Self.isSpace(bytes[offset]) { offset += 1 }
  }

  private mutating func take(_ symbol: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: symbol) else { return false }
    offset += 1
    return true
  }

  private mutating func require(_ symbol: Unicode.Scalar) throws(Malformed) {
    if !take(symbol) { throw malformed("'\(symbol)'") }
  }

  private mutating func open(_ symbol: Unicode.Scalar, _ what: String) throws(Malformed) {
    if !take(symbol) { throw malformed(what) }
    depth += 1
    reached = max(reached, depth)
  }

  private mutating func literal(_ word: StaticString) throws(Malformed) {
    for index in 0..<word.utf8CodeUnitCount {
      if current != word.utf8Start[index] { throw malformed("'\(word)'") }
      offset += 1
    }
  }

  private mutating func number() throws(Malformed) {
    _ = takeByte("-")
    if !takeByte("0") { try digits("a value") }
    if takeByte(".") { try digits("a digit") }
    if takeByte("e") || takeByte("E") {
      if !takeByte("+") { _ = takeByte("-") }
      try digits("a digit")
    }
  }

  private mutating func takeByte(_ symbol: Unicode.Scalar) -> Bool {
    guard current == UInt8(ascii: symbol) else { return false }
    offset += 1
    return true
  }

  private mutating func digits(_ expected: String) throws(Malformed) {
    let start = offset
    while offset < bytes.count, bytes[offset] &- 0x30 < 10 { offset += 1 }
    if offset == start { throw malformed(expected) }
  }

  /// Reads a string up to its closing quote.
  private mutating func stringContent() throws(Malformed) -> (content: Range<Int>, escaped: Bool) {
    if peek() != UInt8(ascii: "\"") { throw malformed("a string") }
    let start = offset + 1
    var at = start
    var escaped = false
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\"") {
        offset = at + 1
        return (start..<at, escaped)
      }
      if byte < 0x20 { break }
      if byte == UInt8(ascii: "\\") {
        escaped = true
        at += 1
      }
      at += 1
    }
    offset = min(at, bytes.count)
    throw malformed(offset == bytes.count ? "the end of a string" : "no control character in a string")
  }

  private func unescaped(_ content: Range<Int>) throws(Malformed) -> String {
    try EscapedString(bytes: bytes, content: content).text()
  }
}
