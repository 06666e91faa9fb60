/// Columns for people, as wide as the terminal permits.
struct Table: Sendable {
  struct Column: Sendable {
    var name: String
    var isNumber = false
    /// True if texts in this column may be cut on a narrow terminal.
    var shrinks = false
  }

  struct Cell: Sendable {
    var text: String
    var tone = Tone.plain
  }

  var columns: [Column]
  var rows: [[Cell]]

  /// A line for the heading and one for each row, of at most `width` cells; nil for no limit. If even short texts do
  /// not fit, the last columns are left out.
  func lines(width: Int?, colour: Bool) -> [String] {
    let widths = widths(within: width ?? .max)
    let head = columns.map { Cell(text: $0.name, tone: .faint) }
    return ([head] + rows).map { row in
      let cells = zip(widths, zip(columns, row)).map { Self.text($0, column: $1.0, cell: $1.1, colour: colour) }
      return cells.joined(separator: Self.gap).trimmedEnd
    }
  }

  static let gap = "  "
  /// Minimum width of a shrunken column, so that names can still be distinguished.
  private static let least = 8

  private static func text(_ width: Int, column: Column, cell: Cell, colour: Bool) -> String {
    let text = cell.text.cut(to: width)
    let space = String(repeating: " ", count: width - text.cells)
    return column.isNumber
      ? space + text.toned(cell.tone, colour: colour) : text.toned(cell.tone, colour: colour) + space
  }

  /// Number of cells that the longest line takes if nothing is cut.
  var naturalWidth: Int { fullWidths.reduce((columns.count - 1) * Self.gap.count, +) }

  private var fullWidths: [Int] {
    columns.indices.map { index in rows.reduce(columns[index].name.cells) { max($0, $1[index].text.cells) } }
  }

  private func widths(within width: Int) -> [Int] {
    var widths = fullWidths
    func excess() -> Int { widths.reduce((widths.count - 1) * Self.gap.count, +) - width }
    while excess() > 0 {
      let shrinkable = widths.indices.filter { columns[$0].shrinks && widths[$0] > Self.least }
      if let widest = shrinkable.max(by: { widths[$0] < widths[$1] }) {
        widths[widest] -= 1
      } else if widths.count > 1 {
        widths.removeLast()
      } else {
        return [width]
      }
    }
    return widths
  }
}

extension String {
  fileprivate var trimmedEnd: String {
    guard let end = lastIndex(where: { $0 != " " }) else { return "" }
    return String(self[...end])
  }
}
