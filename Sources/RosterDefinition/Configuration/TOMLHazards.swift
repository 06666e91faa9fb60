import RosterCore

/// Finds, line by line, input that the parser cannot handle. Strings and lists may span lines (toml.io/en/v1.0.0).
///
/// TOMLKit passes text as C strings: a NUL would truncate a file or a value, and crash in a key. A key of ten thousand
/// parts leads to that depth of calls, here and in the parser, which limits only brackets. toml++ asserts that a
/// table's name, a list's value and a time after a date begin correctly.
struct TOMLHazards {
  private enum Quote: String {
    case basic = "\""
    case literal = "'"
    case basicLines = "\"\"\""
    case literalLines = "'''"

    var hasEscapes: Bool { self == .basic || self == .basicLines }
    var spansLines: Bool { self == .basicLines || self == .literalLines }
  }

  private var open: Quote?
  private var brackets = 0
  /// The last byte outside of texts, comments and white space.
  private var last: UInt8 = 0
  /// Number of dots between the parts of one key. A number has at most one dot.
  private var dots = 0

  /// Largest number of parts of a dotted key. No key of rosterd has more.
  private static let maxParts = 10

  /// Reads the next line, and returns the problem that it contains; nil without a problem.
  mutating func find(in row: String) -> String? {
    if row.utf8.contains(0) { return Self.nul }
    if open == nil, brackets <= 0, Self.isNameless(row) { return "a table's name begins with what needs quotes" }
    return pass(row)
  }

  private static let nul = "NUL in the text"
  private static let escapedNULs = ["\\u0000", "\\U00000000"]

  /// True for a table's header whose text after the brackets cannot begin a key.
  private static func isNameless(_ row: String) -> Bool {
    func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    let text = row.utf8.drop(while: isSpace)
    guard text.first == UInt8(ascii: "[") else { return false }
    let name = text.dropFirst(text.starts(with: "[[".utf8) ? 2 : 1).drop(while: isSpace)
    guard let first = name.first else { return true }
    if first == UInt8(ascii: "]") { return false }
    let scalar = Unicode.Scalar(first)
    return
      !(scalar.isASCII && (Character(scalar).isLetter || Character(scalar).isNumber || "-_\"'".utf8.contains(first)))
  }

  private mutating func pass(_ row: String) -> String? {
    var rest = Substring(row).utf8
    dots = 0
    while let byte = rest.first {
      if let quote = open {
        if quote.hasEscapes, Self.escapedNULs.contains(where: { rest.starts(with: $0.utf8) }) { return Self.nul }
        pass(quote, rest: &rest)
      } else if byte == UInt8(ascii: "#") {
        break
      } else if let quote = Self.openings.first(where: { rest.starts(with: $0.rawValue.utf8) }) {
        open = quote
        last = byte
        rest = rest.dropFirst(quote.rawValue.utf8.count)
      } else {
        if Self.isHalfTime(rest) { return "a date is followed by what is no time" }
        if let cause = pass(byte) { return cause }
        rest = rest.dropFirst()
      }
    }
    if open?.spansLines == false { open = nil }
    return nil
  }

  /// True for a date, followed by a time that begins with fewer than two digits.
  private static func isHalfTime(_ rest: Substring.UTF8View) -> Bool {
    let form = rest.prefix(13).map { $0.isDigit ? UInt8(ascii: "0") : $0 }
    guard form.starts(with: "0000-00-00".utf8) else { return false }
    let behind = form.dropFirst(10)
    let isTime = behind.dropFirst().starts(with: "00".utf8)
    switch behind.first {
    case UInt8(ascii: "T"), UInt8(ascii: "t"): return !isTime
    case UInt8(ascii: " "): return behind.dropFirst().first == UInt8(ascii: "0") && !isTime
    default: return false
    }
  }

  private mutating func pass(_ byte: UInt8) -> String? {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): return nil
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      brackets += 1
      dots = 0
    case UInt8(ascii: "}") where last == UInt8(ascii: "[") || last == UInt8(ascii: ","):
      return "} where a value is to be"
    case UInt8(ascii: "]"), UInt8(ascii: "}"): brackets -= 1
    case UInt8(ascii: "="), UInt8(ascii: ","): dots = 0
    case UInt8(ascii: "."): dots += 1
    case 0x80...: return "outside of quotes and comments there is ASCII only"
    default: break
    }
    last = byte
    return dots < Self.maxParts ? nil : "a key of more than \(Self.maxParts) parts"
  }

  /// Longer marks precede shorter ones.
  private static let openings: [Quote] = [.basicLines, .literalLines, .basic, .literal]

  /// A string of many lines may end with up to two quotes before its closing quotes.
  private mutating func pass(_ quote: Quote, rest: inout Substring.UTF8View) {
    if quote.hasEscapes, rest.first == UInt8(ascii: "\\") {
      rest = rest.dropFirst(2)
    } else if rest.starts(with: quote.rawValue.utf8) {
      let mark = quote.rawValue.utf8
      if quote.spansLines, let byte = mark.first {
        rest = rest.drop { $0 == byte }
      } else {
        rest = rest.dropFirst(mark.count)
      }
      open = nil
    } else {
      rest = rest.dropFirst()
    }
  }
}
