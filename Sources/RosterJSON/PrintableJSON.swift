internal import RosterModel

extension Unicode.Scalar {
  /// `\u202e`: what stands for it in a JSON string (RFC 8259 §7). For those below U+10000, as all that steer a terminal
  /// are.
  package var jsonEscape: String {
    let hex = String(value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
  }
}

extension String {
  /// JSON lines that mean the same, with what would steer a terminal as escapes: it stands in strings only.
  package var printableJSON: String {
    func isKept(_ scalar: Unicode.Scalar) -> Bool { scalar == "\n" || !scalar.steersTerminal }
    guard !unicodeScalars.allSatisfy(isKept) else { return self }
    return unicodeScalars.map { isKept($0) ? String($0) : $0.jsonEscape }.joined()
  }
}
