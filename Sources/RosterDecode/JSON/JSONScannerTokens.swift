extension JSONScanner {
  /// Reads a literal or a number.
  @usableFromInline
  package mutating func word(_ first: UInt8) throws(Malformed) -> JSONKind {
    switch first {
    case UInt8(ascii: "t"): try literal("true", kind: .true)
    case UInt8(ascii: "f"): try literal("false", kind: .false)
    case UInt8(ascii: "n"): try literal("null", kind: .null)
    default: try number()
    }
  }

  private mutating func literal(_ word: StaticString, kind: JSONKind) throws(Malformed) -> JSONKind {
    for index in 0..<word.utf8CodeUnitCount {
      guard at < bytes.count, bytes[at] == word.utf8Start[index] else { throw malformed("'\(word)'") }
      at += 1
    }
    return kind
  }

  private mutating func number() throws(Malformed) -> JSONKind {
    var kind = JSONKind.integer
    _ = takeNow(UInt8(ascii: "-"))
    if !takeNow(UInt8(ascii: "0")) { try digits("a value") }
    if takeNow(UInt8(ascii: ".")) {
      kind = .fraction
      try digits("a digit")
    }
    if takeNow(UInt8(ascii: "e")) || takeNow(UInt8(ascii: "E")) {
      kind = .fraction
      if !takeNow(UInt8(ascii: "+")) { _ = takeNow(UInt8(ascii: "-")) }
      try digits("a digit")
    }
    return kind
  }

  private mutating func takeNow(_ symbol: UInt8) -> Bool {
    guard at < bytes.count, bytes[at] == symbol else { return false }
    at += 1
    return true
  }

  private mutating func digits(_ expected: String) throws(Malformed) {
    let start = at
    while at < bytes.count, bytes[at] &- 0x30 < 10 { at += 1 }
    if at == start { throw malformed(expected) }
  }

  /// Reads the string at the current opening quote; true if it has escapes.
  @inlinable @inline(__always)
  public mutating func string() throws(Malformed) -> Bool {
    at = bytes.plainEnd(from: at + 1)
    if at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
      at += 1
      return false
    }
    try restOfString()
    return true
  }

  /// Reads from the first byte that is not plain text to after the closing quote.
  @usableFromInline
  mutating func restOfString() throws(Malformed) {
    while at < bytes.count, bytes[at] == UInt8(ascii: "\\") {
      try escape()
      at = bytes.plainEnd(from: at)
    }
    guard at < bytes.count else { throw malformed("the end of a string") }
    guard bytes[at] == UInt8(ascii: "\"") else { throw malformed("no control character in a string") }
    at += 1
  }

  private mutating func escape() throws(Malformed) {
    let letter = at + 1 < bytes.count ? bytes[at + 1] : 0
    if letter == UInt8(ascii: "u") {
      guard JSONEscapes.unit(bytes, at: at) != nil else { throw malformed("four hexadecimal digits") }
      at += 6
    } else {
      guard JSONEscapes.byte(letter) != nil else { throw malformed("a known escape") }
      at += 2
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Position of the first quote, backslash or control character. It tests 16 or eight bytes at a time.
  @inlinable @inline(__always)
  public func plainEnd(from start: Int) -> Int {
    var index = start
    let raw = UnsafeRawBufferPointer(self)
    while index + 16 <= count {
      let words = raw.loadUnaligned(fromByteOffset: index, as: SIMD2<UInt64>.self)
      let marks = Self.marks(SIMD2(UInt64(littleEndian: words.x), UInt64(littleEndian: words.y)))
      if marks.x != 0 { return index + marks.x.trailingZeroBitCount >> 3 }
      if marks.y != 0 { return index + 8 + marks.y.trailingZeroBitCount >> 3 }
      index += 16
    }
    while index + 8 <= count {
      let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let marks = Self.marks(SIMD2(word, 0))
      if marks.x != 0 { return index + marks.x.trailingZeroBitCount >> 3 }
      index += 8
    }
    while index < count, self[index] >= 0x20, self[index] != 0x22, self[index] != 0x5C { index += 1 }
    return index
  }

  /// True if there is no quote, backslash or control character. The last 16 bytes may overlap with those before them.
  @inlinable @inline(__always)
  var isPlain: Bool {
    guard count >= 16 else { return plainEnd(from: 0) == count }
    let raw = UnsafeRawBufferPointer(self)
    var marks = Self.marks(raw.loadUnaligned(fromByteOffset: count - 16, as: SIMD2<UInt64>.self))
    for index in stride(from: 0, to: count - 16, by: 16) {
      marks |= Self.marks(raw.loadUnaligned(fromByteOffset: index, as: SIMD2<UInt64>.self))
    }
    return marks.x | marks.y == 0
  }

  /// Sets the highest bit of the first such byte of each little-endian word, and of no byte before it. These are the
  /// classic tricks for a zero byte and a byte below a limit (graphics.stanford.edu/~seander/bithacks.html, "Determine
  /// if a word has a byte less than n").
  @inlinable @inline(__always)
  static func marks(_ words: SIMD2<UInt64>) -> SIMD2<UInt64> {
    let ones = SIMD2<UInt64>(repeating: 0x0101_0101_0101_0101)
    let quotes = words ^ (ones &* 0x22)
    let backslashes = words ^ (ones &* 0x5C)
    return ((quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (words &- ones &* 0x20) & ~words)
      & (ones &* 0x80)
  }
}
