extension Int {
  /// The number with its noun: `1 page`, `826 records`, `2 refreshes`, `3 retries`.
  package func counted(as noun: String) -> String {
    if self == 1 { return "1 \(noun)" }
    if noun.hasSuffix("y") { return "\(self) \(noun.dropLast())ies" }
    return "\(self) \(noun)\(noun.hasSuffix("sh") ? "es" : "s")"
  }
}
