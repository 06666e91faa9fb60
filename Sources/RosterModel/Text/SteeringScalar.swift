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
  /// The text with a replacement for each character that controls a terminal.
  package var printable: String {
    guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0.steersTerminal ? "\u{FFFD}" : $0 }))
  }
}
