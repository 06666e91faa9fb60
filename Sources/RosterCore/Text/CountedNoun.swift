extension Int {
  /// The number with its noun: `1 page`, `826 records`, `2 refreshes`, `3 retries`.
  package func counted(as noun: String) -> String { "\(self) \(nouns(noun))" }

  /// The noun in the form that fits the number: `page` for 1, else `pages`.
  package func nouns(_ noun: String) -> String {
    if self == 1 { return noun }
    let isVowelBeforeY = noun.dropLast().last.map("aeiou".contains) ?? false
    if noun.hasSuffix("y"), !isVowelBeforeY { return "\(noun.dropLast())ies" }
    return noun + (noun.hasSuffix("sh") ? "es" : "s")
  }
}
