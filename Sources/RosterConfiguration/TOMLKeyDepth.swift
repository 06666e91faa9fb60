/// Finds of how many parts the keys of a text are, line by line, before a parser takes it: strings of many lines may be
/// open (toml.io/en/v1.0.0).
struct TOMLKeyDepth {
  private enum Quote: String {
    case basic = "\""
    case literal = "'"
    case basicLines = "\"\"\""
    case literalLines = "'''"

    var hasEscapes: Bool { self == .basic || self == .basicLines }
    var spansLines: Bool { self == .basicLines || self == .literalLines }
  }

  private var open: Quote?
  /// Dots between the parts of one key; those of a number are at most one.
  private var dots = 0
  /// The most of them so far.
  private(set) var mostDots = 0

  /// Takes the next line.
  mutating func pass(_ row: String) {
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
  }

  private mutating func pass(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: "="), UInt8(ascii: ","): dots = 0
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
