/// Lines of a name and a value, the values below each other.
struct Rows {
  var width: Int
  var colour: Bool

  /// As wide as `first seen`, and a space before it.
  static let labels = 11
  /// Where a value begins.
  static let indent = labels + 2

  /// Lines of at most `width` cells, as far as words permit, each with its end; nothing without a value.
  func row(_ name: String, _ value: String?) -> String {
    value.map { row(name, lines: $0.printable.wrapped(width - Self.indent)) } ?? ""
  }

  /// Lines that are as wide as they have to be.
  func row(_ name: String, lines: [String]) -> String {
    let label = name.padded(left: Self.labels).toned(.faint, colour) + "  "
    let indent = String(repeating: " ", count: Self.indent)
    return lines.enumerated().map { ($0 == 0 ? label : indent) + $1 + "\n" }.joined()
  }
}
