/// Reads JSON (RFC 8259) strictly, from the front, value by value, without making anything of it: what it finds are
/// slices of the bytes, which must stay where they are. Text in the bytes must be UTF-8: `checkUTF8` says whether it
/// is.
///
/// It is inlined into whoever reads records: a call for each byte would double the price of a page.
package struct JSONScanner {
  /// All that there is to read.
  package let bytes: UnsafeBufferPointer<UInt8>
  /// The byte that is read next.
  package var at: Int
  /// Lists and objects that are open.
  package var level = 0
  /// The most that were open at once since somebody lowered it.
  package var deepest = 0
  /// How many bytes of insignificant white space were passed so far.
  package var spaces = 0

  /// Stands before the byte `at`.
  @inlinable
  package init(_ bytes: UnsafeBufferPointer<UInt8>, at: Int = 0) {
    self.bytes = bytes
    self.at = at
  }

  /// All bytes at once, which costs a small part of what each string by itself does.
  package static func checkUTF8(_ bytes: UnsafeBufferPointer<UInt8>) throws(Malformed) {
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: bytes.span)
    } catch {
      throw Malformed(offset: error.byteOffsets.lowerBound, expected: "UTF-8")
    }
  }

  /// That something else was expected at the byte that is read next.
  @inline(never)
  package func malformed(_ expected: String) -> Malformed {
    Malformed(offset: at, expected: expected)
  }

  /// The first byte of the next token; 0 at the end (no token begins with it).
  @inlinable @inline(__always)
  package mutating func peek() -> UInt8 {
    while at < bytes.count {
      let byte = bytes[at]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      at += 1
      spaces &+= 1
    }
    return 0
  }

  /// Reads that token, of one byte, if it is the next.
  @inlinable @inline(__always)
  package mutating func take(_ symbol: UInt8) -> Bool {
    guard peek() == symbol else { return false }
    at += 1
    return true
  }

  /// The bytes end here.
  package mutating func end() throws(Malformed) {
    _ = peek()
    if at < bytes.count { throw malformed("the end") }
  }

  /// Goes into the list or object at hand.
  @inlinable
  package mutating func enter() {
    at += 1
    level += 1
    deepest = max(deepest, level)
  }

  /// Goes on behind an element or member: true before the next one, false behind `close`.
  @inlinable
  package mutating func goesOn(until close: UInt8) throws(Malformed) -> Bool {
    let byte = peek()
    guard byte == UInt8(ascii: ",") || byte == close else {
      throw malformed(close == UInt8(ascii: "]") ? "',' or ']'" : "',' or '}'")
    }
    at += 1
    if byte == close { level -= 1 }
    return byte != close
  }

  /// Leaves the list or object that was entered, if it is empty.
  @inlinable
  package mutating func isEmpty(until close: UInt8) -> Bool {
    guard take(close) else { return false }
    level -= 1
    return true
  }

  /// Reads a member's name and the colon.
  @inlinable
  package mutating func name() throws(Malformed) -> JSONSlice {
    guard peek() == UInt8(ascii: "\"") else { throw malformed("a name in quotes") }
    let start = at
    let escaped = try string()
    let name = JSONSlice(start, at, escaped ? .escapedString : .string)
    guard take(UInt8(ascii: ":")) else { throw malformed("':'") }
    return name
  }

  /// Reads a value of any kind.
  @inlinable
  package mutating func value() throws(Malformed) -> JSONSlice {
    let byte = peek()
    let start = at
    if byte == UInt8(ascii: "\"") {
      let escaped = try string()
      return JSONSlice(start, at, escaped ? .escapedString : .string)
    }
    if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
      let before = spaces
      try compound()
      return JSONSlice(start, at, byte == UInt8(ascii: "{") ? .object : .list, hasSpace: spaces != before)
    }
    let kind = try word(byte)
    return JSONSlice(start, at, kind)
  }
}
