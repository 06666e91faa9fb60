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
    return Set(words.map { condition(String($0)) }).sorted().joined(separator: " AND ")
  }

  private static func condition(_ word: String) -> String {
    let phrases = spellings(of: word).map { "\"\($0)\"*" }
    return phrases.count == 1 ? phrases[0] : "(\(phrases.joined(separator: " OR ")))"
  }

  /// The index ignores the diacritics of Latin letters only. A Greek or Cyrillic word is searched in three ways: as the
  /// user wrote it, without diacritics, and with those of one letter. Such a word rarely has more than one accent.
  private static func spellings(of word: String) -> [String] {
    let letters = word.lowercased().unicodeScalars.map { plain[$0] ?? $0 }
    guard letters.contains(where: { marked[$0] != nil }) else { return [word] }
    var spellings: Set<String> = [word.lowercased(), text(letters)]
    for (index, letter) in letters.enumerated() {
      for other in marked[letter] ?? [] {
        spellings.insert(text(letters[..<index] + [other] + letters[(index + 1)...]))
      }
    }
    return spellings.sorted()
  }

  private static func text(_ letters: some Sequence<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(letters))
  }

  private static let marked: [Unicode.Scalar: [Unicode.Scalar]] = [
    "α": ["ά"], "ε": ["έ"], "η": ["ή"], "ι": ["ί", "ϊ", "ΐ"], "ο": ["ό"], "υ": ["ύ", "ϋ", "ΰ"], "ω": ["ώ"],
    "е": ["ё"], "и": ["й"], "і": ["ї"], "у": ["ў"],
  ]
  private static let plain = Dictionary(
    uniqueKeysWithValues: marked.flatMap { plain, marked in marked.map { ($0, plain) } })

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
