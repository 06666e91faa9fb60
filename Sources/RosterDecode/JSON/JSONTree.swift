package import RosterCore

extension JSONValue {
  /// A record has at most 128 levels, and answers wrap it in further objects. The limit matters because a tree is
  /// freed by recursion.
  private static let deepest = 136

  /// Reads a complete JSON text strictly (RFC 8259). Throws `Malformed` if it is not JSON or nests deeper than 136
  /// levels. If a name occurs several times in an object, the last value wins.
  package init(json bytes: some Sequence<UInt8>) throws(Malformed) {
    self = try Array(bytes).withUnsafeBufferPointer { bytes throws(Malformed) -> JSONValue in
      try JSONScanner.checkUTF8(bytes)
      var scanner = JSONScanner(bytes)
      let value = try Self.read(&scanner)
      try scanner.end()
      return value
    }
  }

  private static func read(_ scanner: inout JSONScanner) throws(Malformed) -> JSONValue {
    switch scanner.peek() {
    case UInt8(ascii: "{"): return .object(try members(&scanner))
    case UInt8(ascii: "["): return .list(try elements(&scanner))
    default: return scalar(try scanner.value(), bytes: scanner.bytes)
    }
  }

  private static func scalar(_ slice: JSONSlice, bytes: UnsafeBufferPointer<UInt8>) -> JSONValue {
    switch slice.kind {
    case .string, .escapedString: .text(JSONEscapes.text(bytes, slice))
    case .integer, .fraction: .number(String(decoding: bytes[slice.range], as: UTF8.self))
    case .true: .boolean(true)
    case .false: .boolean(false)
    case .null, .absent, .list, .object: .null
    }
  }

  private static func enter(_ scanner: inout JSONScanner) throws(Malformed) {
    guard scanner.level < deepest else { throw scanner.malformed("at most \(deepest) levels") }
    scanner.enter()
  }

  private static func members(_ scanner: inout JSONScanner) throws(Malformed) -> [Member] {
    var members: [Member] = []
    var places: [[UInt8]: Int] = [:]
    try enter(&scanner)
    if scanner.isEmpty(until: UInt8(ascii: "}")) { return members }
    repeat {
      let name = JSONEscapes.text(scanner.bytes, try scanner.name())
      let value = try read(&scanner)
      if let place = places.updateValue(members.count, forKey: Array(name.utf8)) {
        places[Array(name.utf8)] = place
        members[place].value = value
      } else {
        members.append(Member(name, value))
      }
    } while try scanner.goesOn(until: UInt8(ascii: "}"))
    return members
  }

  private static func elements(_ scanner: inout JSONScanner) throws(Malformed) -> [JSONValue] {
    var elements: [JSONValue] = []
    try enter(&scanner)
    if scanner.isEmpty(until: UInt8(ascii: "]")) { return elements }
    repeat { elements.append(try read(&scanner)) } while try scanner.goesOn(until: UInt8(ascii: "]"))
    return elements
  }
}
