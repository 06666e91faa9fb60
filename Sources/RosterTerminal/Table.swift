internal import RosterDecode

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

/// The members of a well-formed JSON object. Values keep their original spelling, because to parse a number could
/// change it.
enum JSONMembers {
  /// The members in their order; empty if the value is not an object.
  static func of(_ object: String) -> [(name: String, value: String)] {
    read(object, open: "{", close: "}") { scanner throws(Malformed) in
      (JSONEscapes.text(scanner.bytes, try scanner.name()), text(of: try scanner.value(), scanner))
    }
  }

  /// The elements of a list; empty if the value is not a list.
  static func list(_ list: String) -> [String] {
    read(list, open: "[", close: "]") { scanner throws(Malformed) in text(of: try scanner.value(), scanner) }
  }

  /// The text of a JSON string; nil for any other value.
  static func text(_ value: String) -> String? {
    var value = value
    return value.withUTF8 { bytes in
      var scanner = JSONScanner(bytes)
      guard scanner.peek() == UInt8(ascii: "\""), let found = try? scanner.value() else { return nil }
      return JSONEscapes.text(bytes, found)
    }
  }

  /// Each member's value in the form for people: a text without quotes, and an empty text for null.
  static func texts(_ object: String) -> [String: String] { texts(of(object)) }

  /// The same for members that were read before.
  static func texts(_ members: [(name: String, value: String)]) -> [String: String] {
    Dictionary(members.map { ($0.name, shown($0.value)) }) { first, _ in first }
  }

  /// The same for one value.
  static func shown(_ value: String) -> String { value == "null" ? "" : text(value) ?? value }

  /// The values of a key's JSON: one, or those of a composite key, which people write one after another.
  static func parts(ofKey key: String) -> [String] {
    let parts = list(key)
    return (parts.isEmpty ? [key] : parts).map(shown)
  }

  private static func read<Part>(
    _ json: String, open: Unicode.Scalar, close: Unicode.Scalar,
    part: (inout JSONScanner) throws(Malformed) -> Part
  ) -> [Part] {
    var json = json
    return json.withUTF8 { bytes in
      var scanner = JSONScanner(bytes)
      var parts: [Part] = []
      guard scanner.peek() == UInt8(ascii: open) else { return parts }
      scanner.enter()
      if scanner.isEmpty(until: UInt8(ascii: close)) { return parts }
      do throws(Malformed) {
        repeat { parts.append(try part(&scanner)) } while try scanner.goesOn(until: UInt8(ascii: close))
      } catch { return [] }
      return parts
    }
  }

  private static func text(of slice: JSONSlice, _ scanner: JSONScanner) -> String {
    String(decoding: scanner.bytes[slice.range], as: UTF8.self)
  }
}
