extension Unicode.Scalar {
  /// True for a scalar that would steer a terminal or forge a line. These are controls, line ends, and marks that turn
  /// the direction of the text around them (UAX 9 §2). All of them are below U+10000, as JSON's `\u` needs it.
  package var steersTerminal: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default:
      [0x061C, 0x200E, 0x200F].contains(value) || (0x202A...0x202E).contains(value)
        || (0x2066...0x2069).contains(value)
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
