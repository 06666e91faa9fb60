internal import RosterModel

extension Unicode.Scalar {
  /// The escape `\uXXXX` of the character (RFC 8259 §7). It must be below U+10000, as all characters that control a
  /// terminal are.
  package var jsonEscape: String {
    let hex = String(value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
  }
}

extension String {
  /// The same JSON lines, with escapes for all characters that control a terminal. Such characters occur only inside
  /// strings.
  package var printableJSON: String {
    func isKept(_ scalar: Unicode.Scalar) -> Bool { scalar == "\n" || !scalar.steersTerminal }
    guard !unicodeScalars.allSatisfy(isKept) else { return self }
    return unicodeScalars.map { isKept($0) ? String($0) : $0.jsonEscape }.joined()
  }
}
