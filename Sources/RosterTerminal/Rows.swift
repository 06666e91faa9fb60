internal import RosterModel

/// Lines of a name and a value, with the values aligned.
struct Rows {
  var width: Int
  var colour: Bool
  /// Number of cells for a name.
  var labels = Self.labels

  /// Width of `first seen` and a space before it.
  static let labels = 11
  /// Column in which a value begins after a default label.
  static let indent = labels + gap
  private static let gap = 2
  /// Column in which a value begins.
  var indent: Int { labels + Self.gap }

  /// Lines of at most `width` cells, or as long as a single word, each with its end; empty without a value.
  func row(_ name: String, _ value: String?) -> String {
    value.map { row(name, lines: $0.printable.wrapped(width - indent)) } ?? ""
  }

  /// Rows for lines that are already broken.
  func row(_ name: String, lines: [String]) -> String {
    let label = name.padded(left: labels).toned(.faint, colour: colour) + "  "
    let indent = String(repeating: " ", count: self.indent)
    return lines.enumerated().map { ($0 == 0 ? label : $1.isEmpty ? "" : indent) + $1 + "\n" }.joined()
  }
}
