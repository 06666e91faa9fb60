extension Unicode.Scalar {
  /// True for a scalar that would steer a terminal or forge a line. These are controls, line ends, and marks that turn
  /// the direction of the text around them (UAX 9 §2). All of them are below U+10000, as JSON's `\u` needs it.
  package var steersTerminal: Bool {
    // The usual case is decided without a look at Unicode's tables.
    if isASCII { return value < 0x20 || value == 0x7F }
    return switch value {
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: [.control, .lineSeparator, .paragraphSeparator].contains(properties.generalCategory)
    }
  }
}

extension String {
  /// True if each byte is a printable character of ASCII, which takes one cell of a terminal. Most texts are so, and
  /// this is decided far faster than the properties of Unicode.
  package var isPrintableASCII: Bool { utf8.allSatisfy { 0x20 <= $0 && $0 < 0x7F } }

  /// The text with a replacement for each character that controls a terminal.
  package var printable: String {
    guard !isPrintableASCII, unicodeScalars.contains(where: \.steersTerminal) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0.steersTerminal ? "\u{FFFD}" : $0 }))
  }
}
