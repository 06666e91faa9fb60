/// The line and the order of each key of a TOML text (toml.io/en/v1.0.0), which the parser does not keep.
///
/// An element of a list is `element(_:)` of its number in a path, because its keys have an order too.
struct TOMLKeyPlaces {
  struct Place: Equatable {
    /// Position among all keys of the text.
    var order: Int
    /// The line, from 1.
    var line: Int
  }

  private(set) var places: [[String]: Place] = [:]
  private let bytes: [UInt8]
  private var at = 0
  private var line = 1
  /// Number of elements of each list of tables so far.
  private var tables: [[String]: Int] = [:]

  /// - Parameter text: A text that the parser has accepted. For any other text, only the end of this method is certain.
  init(of text: String) {
    bytes = Array(text.utf8)
    var table: [String] = []
    while skipBlank() {
      if next == UInt8(ascii: "[") { table = header() } else { entry(below: table) }
    }
  }

  /// No key is equal to it, because a key cannot contain NUL.
  static func element(_ number: Int) -> String { "\0\(number)" }

  static func isInList(_ path: [String]) -> Bool { path.contains { $0.utf8.first == 0 } }

  // MARK: Statements

  private mutating func header() -> [String] {
    step()
    let isList = next == UInt8(ascii: "[")
    if isList { step() }
    let key = key()
    // Only brackets or a comment follow on this line.
    while let byte = next, byte != UInt8(ascii: "\n") { step() }
    let table = elements(of: key, isList: isList)
    note(key, behind: 0)
    note(table, behind: 0)
    return table
  }

  /// The path of a header's key, with the last element of each list of tables on it.
  private mutating func elements(of key: [String], isList: Bool) -> [String] {
    var path: [String] = []
    for (index, name) in key.enumerated() {
      path.append(name)
      if isList, index == key.count - 1 { tables[path, default: 0] += 1 }
      if let count = tables[path] { path.append(Self.element(count - 1)) }
    }
    return path
  }

  private mutating func entry(below table: [String]) {
    let start = at
    let path = table + key()
    note(path, behind: table.count)
    if next == UInt8(ascii: "=") { step() }
    value(of: path)
    if at == start { step() }
  }

  private mutating func note(_ path: [String], behind known: Int) {
    for count in known..<path.count {
      let part = Array(path[...count])
      if places[part] == nil { places[part] = Place(order: places.count, line: line) }
    }
  }

  // MARK: Values

  private mutating func value(of path: [String]) {
    skipSpaces()
    switch next {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = text()
    case UInt8(ascii: "["): list(path)
    case UInt8(ascii: "{"): inlineTable(path)
    default: while let byte = next, !",]}#\n".utf8.contains(byte) { step() }
    }
    skipSpaces()
  }

  private mutating func list(_ path: [String]) {
    step()
    var count = 0
    while skipBlank(), next != UInt8(ascii: "]") {
      let start = at
      value(of: path + [Self.element(count)])
      count += 1
      if skipBlank(), next == UInt8(ascii: ",") { step() }
      if at == start { step() }
    }
    step()
  }

  private mutating func inlineTable(_ path: [String]) {
    step()
    while skipBlank(), next != UInt8(ascii: "}") {
      entry(below: path)
      if skipBlank(), next == UInt8(ascii: ",") { step() }
    }
    step()
  }

  // MARK: Words

  private mutating func key() -> [String] {
    var parts: [String] = []
    while true {
      skipSpaces()
      parts.append(part())
      skipSpaces()
      guard next == UInt8(ascii: ".") else { return parts }
      step()
    }
  }

  private mutating func part() -> String {
    if next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") { return text() }
    let start = at
    while let byte = next, !".=]}#, \t\r\n".utf8.contains(byte) { step() }
    return String(decoding: bytes[start..<at], as: UTF8.self)
  }

  /// The content of a string of one line or of many. It is used for keys only.
  private mutating func text() -> String {
    guard let quote = next else { return "" }
    let isLong = bytes[at...].starts(with: [quote, quote, quote])
    for _ in 0..<(isLong ? 3 : 1) { step() }
    var content: [UInt8] = []
    while let byte = next, !ends(quote, isLong: isLong) {
      if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
        escape(&content)
      } else {
        content.append(byte)
        step()
      }
    }
    // A string of many lines may end with up to two quotes before its closing quotes.
    if isLong { while next == quote { step() } } else { step() }
    return String(decoding: content, as: UTF8.self)
  }

  private func ends(_ quote: UInt8, isLong: Bool) -> Bool {
    isLong ? bytes[at...].starts(with: [quote, quote, quote]) : next == quote
  }

  private mutating func escape(_ content: inout [UInt8]) {
    step()
    guard let letter = next else { return }
    step()
    switch letter {
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "u"): scalar(digits: 4, &content)
    case UInt8(ascii: "U"): scalar(digits: 8, &content)
    default: content.append(letter)
    }
  }

  private mutating func scalar(digits: Int, _ content: inout [UInt8]) {
    let hex = bytes[at...].prefix(digits)
    for _ in hex { step() }
    let value = UInt32(String(decoding: hex, as: UTF8.self), radix: 16)
    if let scalar = value.flatMap(Unicode.Scalar.init) { content += String(Character(scalar)).utf8 }
  }

  // MARK: Bytes

  private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

  private mutating func step() {
    guard at < bytes.count else { return }
    if bytes[at] == UInt8(ascii: "\n") { line += 1 }
    at += 1
  }

  private mutating func skipSpaces() {
    while let byte = next, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r") {
      step()
    }
  }

  /// Skips white space and comments. Returns false at the end.
  private mutating func skipBlank() -> Bool {
    while let byte = next {
      if byte == UInt8(ascii: "#") {
        while let byte = next, byte != UInt8(ascii: "\n") { step() }
      } else if " \t\r\n".utf8.contains(byte) {
        step()
      } else {
        return true
      }
    }
    return false
  }
}
