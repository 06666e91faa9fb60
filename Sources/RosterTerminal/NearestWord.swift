/// Finds the word that a user may have meant by an unknown word.
package enum NearestWord {
  /// The shortest word that begins with `word`, or the one with the fewest typing errors; nil if none is near.
  package static func to(_ word: String, among words: [String]) -> String? {
    if let whole = words.filter({ $0.hasPrefix(word) }).min(by: { $0.count < $1.count }), !word.isEmpty { return whole }
    let near = words.map { ($0, slips(Array(word.lowercased().utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
    return near.flatMap { $0.1 <= max(1, word.count / 3) ? $0.0 : nil }
  }

  /// Number of typing errors: wrong, missing, extra or swapped letters (Damerau's distance of optimal alignments).
  private static func slips(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var rows = [Array(0...other.count)]
    for (i, byte) in one.enumerated() {
      var row = [i + 1]
      for (j, letter) in other.enumerated() {
        var least = min(rows[i][j] + (byte == letter ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, byte == other[j - 1], one[i - 1] == letter { least = min(least, rows[i - 1][j - 1] + 1) }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[one.count][other.count]
  }
}
