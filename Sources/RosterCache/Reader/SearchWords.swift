/// Turns what a person types into a query of the index: words, never query syntax.
enum SearchWords {
  /// A query for records that contain every word, or a longer word with that beginning. nil if the text has no word.
  /// A word is what the index's tokenizer treats as one: letters, numbers and private use, with their marks
  /// (sqlite.org/fts5.html#unicode61_tokenizer).
  static func query(_ text: String) -> String? {
    let words = text.unicodeScalars.split { !isPartOfWord($0) }
      .filter { $0.contains { !isMark($0) } }
    guard !words.isEmpty else { return nil }
    // Each word occurs once in the query, because every phrase costs a walk through the index.
    return Set(words.map { "\"\(String($0))\"*" }).sorted().joined(separator: " ")
  }

  private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber, .letterNumber, .otherNumber, .privateUse:
      true
    default: isMark(scalar)
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }
}
