/// Finds where a statement of a file that is TOML ends, line by line: brackets and strings of many lines may be open
/// (toml.io/en/v1.0.0).
struct TOMLStatement {
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
  /// Dots between the parts of one key; those of a number are at most one.
  private var dots = 0
  /// The most of them so far.
  private(set) var mostDots = 0

  /// Takes the next line; true where the statement is whole with it.
  mutating func ends(with row: String) -> Bool {
    var rest = Substring(row).utf8
    dots = 0
    while let byte = rest.first {
      if let quote = open {
        pass(quote, &rest)
      } else if byte == UInt8(ascii: "#") {
        break
      } else if let quote = Self.openings.first(where: { rest.starts(with: $0.rawValue.utf8) }) {
        open = quote
        rest = rest.dropFirst(quote.rawValue.utf8.count)
      } else {
        pass(byte)
        rest = rest.dropFirst()
      }
    }
    if open?.spansLines == false { open = nil }
    return open == nil && brackets <= 0
  }

  private mutating func pass(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      brackets += 1
      dots = 0
    case UInt8(ascii: "]"), UInt8(ascii: "}"): brackets -= 1
    case UInt8(ascii: "="), UInt8(ascii: ","): dots = 0
    case UInt8(ascii: "."):
      dots += 1
      mostDots = max(mostDots, dots)
    default: break
    }
  }

  /// The longer ones first.
  private static let openings: [Quote] = [.basicLines, .literalLines, .basic, .literal]

  /// Up to two quotes may stand before those that close a string of many lines.
  private mutating func pass(_ quote: Quote, _ rest: inout Substring.UTF8View) {
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
