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
