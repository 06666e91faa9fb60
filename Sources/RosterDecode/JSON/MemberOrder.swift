/// Compares JSON that differs at most in the order of members, which is never a difference.
package enum MemberOrder {
  private typealias Bytes = UnsafeBufferPointer<UInt8>

  /// A value with the members of its objects sorted by name.
  private enum Value {
    case scalar(Bytes)
    case list([Value])
    case object([Member])
  }

  private struct Member {
    /// The name in its original notation, with quotes.
    var name: Bytes
    var value: Value
  }

  /// A record has at most 128 levels. The limit matters because a value is freed by recursion.
  private static let deepest = 136

  /// True if two JSON texts without white space between their tokens are equal apart from the order of members. Both
  /// are parsed only if they may have the same bytes in another order, which almost no changed value has.
  package static func isOnlyDifference(_ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard one.count == other.count, sum(one) == sum(other), let one = value(one), let other = value(other) else {
      return false
    }
    return isSame(one, other)
  }

  private static func sum(_ bytes: Bytes) -> Int { bytes.reduce(0) { $0 + Int($1) } }

  /// nil if it is not JSON.
  private static func value(_ bytes: Bytes) -> Value? {
    var scanner = JSONScanner(bytes)
    return try? read(&scanner)
  }

  private static func read(_ scanner: inout JSONScanner) throws(Malformed) -> Value {
    switch scanner.peek() {
    case UInt8(ascii: "{"): .object(try members(&scanner))
    case UInt8(ascii: "["): .list(try elements(&scanner))
    default: .scalar(Bytes(rebasing: scanner.bytes[try scanner.value().range]))
    }
  }

  private static func enter(_ scanner: inout JSONScanner) throws(Malformed) {
    guard scanner.level < deepest else { throw scanner.malformed("at most \(deepest) levels") }
    scanner.enter()
  }

  private static func members(_ scanner: inout JSONScanner) throws(Malformed) -> [Member] {
    var members: [Member] = []
    try enter(&scanner)
    if scanner.isEmpty(until: UInt8(ascii: "}")) { return members }
    repeat {
      let name = Bytes(rebasing: scanner.bytes[try scanner.name().range])
      members.append(Member(name: name, value: try read(&scanner)))
    } while try scanner.goesOn(until: UInt8(ascii: "}"))
    // The sort is stable, so that members with the same name keep their order, in which the last one counts.
    members.sort { $0.name.lexicographicallyPrecedes($1.name) }
    return members
  }

  private static func elements(_ scanner: inout JSONScanner) throws(Malformed) -> [Value] {
    var elements: [Value] = []
    try enter(&scanner)
    if scanner.isEmpty(until: UInt8(ascii: "]")) { return elements }
    repeat { elements.append(try read(&scanner)) } while try scanner.goesOn(until: UInt8(ascii: "]"))
    return elements
  }

  private static func isSame(_ one: Value, _ other: Value) -> Bool {
    switch (one, other) {
    case (.scalar(let one), .scalar(let other)): one.elementsEqual(other)
    case (.list(let one), .list(let other)): one.count == other.count && zip(one, other).allSatisfy(isSame)
    case (.object(let one), .object(let other)):
      one.count == other.count
        && zip(one, other).allSatisfy { $0.name.elementsEqual($1.name) && isSame($0.value, $1.value) }
    default: false
    }
  }
}
