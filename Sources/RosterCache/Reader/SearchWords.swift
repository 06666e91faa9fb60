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

  /// The index ignores the diacritics of Latin letters only. A Greek or Cyrillic word is searched as the user wrote it,
  /// without diacritics, and in both ways with other diacritics of one letter. A word rarely has more than one accent.
  private static func spellings(of word: String) -> [String] {
    let letters = word.lowercased().unicodeScalars.map { plain[$0] ?? $0 }
    guard letters.contains(where: { marked[$0] != nil }) else { return [word] }
    let typed = Array(word.lowercased().unicodeScalars)
    var spellings: Set<String> = [text(typed), text(letters)]
    for (index, letter) in letters.enumerated() {
      for (other, base) in (marked[letter] ?? []).flatMap({ [($0, letters), ($0, typed)] }) + [(letter, typed)] {
        spellings.insert(text(base[..<index] + [other] + base[(index + 1)...]))
      }
    }
    return spellings.sorted()
  }

  private static func text(_ letters: some Sequence<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(letters))
  }

  /// The Greek and Cyrillic letters with diacritics, by the letter without them.
  private static let marked: [Unicode.Scalar: [Unicode.Scalar]] = {
    func letters(_ range: ClosedRange<UInt32>) -> [Unicode.Scalar] {
      range.compactMap { Unicode.Scalar($0) }.filter { $0.properties.isLowercase && isPartOfWord($0) }
    }
    let plain = letters(0x370...0x52F)
    // Texts with the same canonical decomposition are equal: a letter with its marks, and the one scalar for them.
    let byText = Dictionary(grouping: plain + letters(0x1F00...0x1FFF)) { String($0) }
    let found = plain.map { letter in (letter, marks.flatMap { byText["\(letter)\($0)"] ?? [] }) }
    let all = Set(found.flatMap(\.1))
    return Dictionary(uniqueKeysWithValues: found.filter { !all.contains($0.0) && !$0.1.isEmpty })
  }()

  /// Diacritics that a letter has together: breathing, accent and iota, or one or two others.
  private static let marks: [String] = {
    let (breathings, accents) = (["", "\u{313}", "\u{314}"], ["", "\u{300}", "\u{301}", "\u{342}"])
    let greek = breathings.flatMap { first in accents.flatMap { [first + $0, first + $0 + "\u{345}"] } }
    let others = ["\u{304}", "\u{306}", "\u{308}", "\u{30B}", "\u{30F}"] + accents.dropFirst().map { "\u{308}" + $0 }
    return greek.filter { !$0.isEmpty } + others
  }()

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
