internal import RosterModel

/// Lines of a name and a value, the values below each other.
struct Rows {
  var width: Int
  var colour: Bool
  /// Cells for a name.
  var labels = Self.labels

  /// As wide as `first seen`, and a space before it.
  static let labels = 11
  /// Where a value begins, behind such labels.
  static let indent = labels + gap
  private static let gap = 2
  /// Where a value begins.
  var indent: Int { labels + Self.gap }

  /// Lines of at most `width` cells, as far as words permit, each with its end; nothing without a value.
  func row(_ name: String, _ value: String?) -> String {
    value.map { row(name, lines: $0.printable.wrapped(width - indent)) } ?? ""
  }

  /// Lines that are as wide as they have to be.
  func row(_ name: String, lines: [String]) -> String {
    let label = name.padded(left: labels).toned(.faint, colour) + "  "
    let indent = String(repeating: " ", count: self.indent)
    return lines.enumerated().map { ($0 == 0 ? label : $1.isEmpty ? "" : indent) + $1 + "\n" }.joined()
  }
}
