/// A strict reader of JSON (RFC 8259) that reads the bytes value by value. It creates no values: its results are
/// slices of the bytes, which must stay in place. The bytes must be UTF-8, which `checkUTF8` verifies.
///
/// The scanner is inlined into its callers: a function call for each byte would double the cost of a page. It is public
/// for that reason, because Swift 6.3 does not inline `package` functions into other modules.
public struct JSONScanner {
  /// All bytes to read.
  public let bytes: UnsafeBufferPointer<UInt8>
  /// Offset of the next byte to read.
  public var at: Int
  /// Number of open lists and objects.
  public var level = 0
  /// The highest `level` since a caller last reset it.
  public var deepest = 0
  /// Number of bytes of insignificant white space read so far.
  public var spaces = 0

  /// Starts before the byte at `at`.
  @inlinable
  public init(_ bytes: UnsafeBufferPointer<UInt8>, at: Int = 0) {
    self.bytes = bytes
    self.at = at
  }

  /// Checks all bytes at once, which is far cheaper than a check of each string.
  public static func checkUTF8(_ bytes: UnsafeBufferPointer<UInt8>) throws(Malformed) {
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: bytes.span)
    } catch {
      throw Malformed(offset: error.byteOffsets.lowerBound, expected: "UTF-8")
    }
  }

  /// An error that says what was expected at the next byte.
  @inline(never)
  public func malformed(_ expected: String) -> Malformed {
    Malformed(offset: at, expected: expected)
  }

  /// The first byte of the next token; 0 at the end (no token begins with it).
  @inlinable @inline(__always)
  public mutating func peek() -> UInt8 {
    while at < bytes.count {
      let byte = bytes[at]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      at += 1
      spaces &+= 1
    }
    return 0
  }

  /// Reads the next token if it is this one-byte symbol.
  @inlinable @inline(__always)
  public mutating func take(_ symbol: UInt8) -> Bool {
    guard peek() == symbol else { return false }
    at += 1
    return true
  }

  /// Throws unless only white space is left.
  public mutating func end() throws(Malformed) {
    _ = peek()
    if at < bytes.count { throw malformed("the end") }
  }

  /// Enters the current list or object.
  @inlinable
  public mutating func enter() {
    at += 1
    level += 1
    deepest = max(deepest, level)
  }

  /// Continues after an element or member: true before the next one, false after `close`.
  @inlinable
  public mutating func goesOn(until close: UInt8) throws(Malformed) -> Bool {
    let byte = peek()
    guard byte == UInt8(ascii: ",") || byte == close else {
      throw malformed(close == UInt8(ascii: "]") ? "',' or ']'" : "',' or '}'")
    }
    at += 1
    if byte == close { level -= 1 }
    return byte != close
  }

  /// Leaves the entered list or object if it is empty.
  @inlinable
  public mutating func isEmpty(until close: UInt8) -> Bool {
    guard take(close) else { return false }
    level -= 1
    return true
  }

  /// Reads a member's name and the colon.
  @inlinable
  public mutating func name() throws(Malformed) -> JSONSlice {
    guard peek() == UInt8(ascii: "\"") else { throw malformed("a name in quotes") }
    let start = at
    let escaped = try string()
    let name = JSONSlice(start, end: at, kind: escaped ? .escapedString : .string)
    guard take(UInt8(ascii: ":")) else { throw malformed("':'") }
    return name
  }

  /// Reads a value of any kind.
  @inlinable
  public mutating func value() throws(Malformed) -> JSONSlice {
    let byte = peek()
    let start = at
    if byte == UInt8(ascii: "\"") {
      let escaped = try string()
      return JSONSlice(start, end: at, kind: escaped ? .escapedString : .string)
    }
    if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
      let before = spaces
      try compound()
      return JSONSlice(start, end: at, kind: byte == UInt8(ascii: "{") ? .object : .list, hasSpace: spaces != before)
    }
    let kind = try word(byte)
    return JSONSlice(start, end: at, kind: kind)
  }
}

extension JSONScanner {
  /// Reads the current list or object. It does not recurse: upstream decides how deep a value nests, and the stack of a
  /// task is small.
  @usableFromInline
  package mutating func compound() throws(Malformed) {
    var open = OpenBrackets()
    while true {
      if try goesIn(&open) { continue }
      while try !goesOn(&open) {
        if open.depth == 0 { return }
      }
    }
  }

  /// Reads a scalar or an empty list or object completely (false), or enters a list or object up to its first value
  /// (true).
  @inline(__always)
  private mutating func goesIn(_ open: inout OpenBrackets) throws(Malformed) -> Bool {
    let byte = peek()
    switch byte {
    case UInt8(ascii: "\""):
      _ = try string()
      return false
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      at += 1
      let isObject = byte == UInt8(ascii: "{")
      open.push(isObject: isObject)
      deepest = max(deepest, level + open.depth)
      if peek() == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) { return false }
      if isObject { _ = try name() }
      return true
    default:
      _ = try word(byte)
      return false
    }
  }

  /// Continues after a value: true before the next value, false after a closing bracket.
  @inline(__always)
  private mutating func goesOn(_ open: inout OpenBrackets) throws(Malformed) -> Bool {
    let byte = peek()
    if byte == UInt8(ascii: ",") {
      at += 1
      if open.isObject { _ = try name() }
      return true
    }
    guard byte == (open.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
      throw malformed(open.isObject ? "',' or '}'" : "',' or ']'")
    }
    at += 1
    open.pop()
    return false
  }
}

/// The kinds of all open brackets, one bit each: 8 MiB of `[` take 1 MiB.
private struct OpenBrackets {
  private(set) var depth = 0
  private var top: UInt64 = 0
  private var full: [UInt64] = []

  var isObject: Bool { top & 1 == 1 }

  mutating func push(isObject: Bool) {
    if depth & 63 == 0, depth > 0 { full.append(top) }
    top = top << 1 | (isObject ? 1 : 0)
    depth += 1
  }

  mutating func pop() {
    depth -= 1
    top >>= 1
    if depth & 63 == 0, let below = full.popLast() { top = below }
  }
}
