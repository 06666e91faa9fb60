/// `{RESOURCE.COLUMN}` in a text: an integer or text column of the parent or of another ancestor.
package struct ParentColumn: Sendable, Hashable {
  /// Name of the ancestor.
  package var resource: String
  /// Name of its column.
  package var column: String

  /// The placeholder of that column.
  package init(_ resource: String, _ column: String) {
    self.resource = resource
    self.column = column
  }

  /// The prefix of the parts of a composite key, which is no resource: `{key.COLUMN}`.
  package static let key = "key"

  /// The placeholder as a definition writes it.
  package var placeholder: String { "{\(name)}" }

  /// The name in the JSON of `ParentValues`: `issue.number`.
  package var name: String { "\(resource).\(column)" }

  /// Reads `issue.number`. nil for any other text.
  package init?(name: some StringProtocol) {
    let parts = name.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].isResourceName, parts[1].isColumnName else { return nil }
    self.init(String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self))
    if resource == Self.key { return nil }
  }

  /// The placeholder that is the whole text; nil for any other text.
  package init?(whole text: String) {
    guard text.utf8.first == UInt8(ascii: "{"), text.utf8.last == UInt8(ascii: "}") else { return nil }
    self.init(name: text.dropFirst().dropLast())
  }

  /// All placeholders of a text, in their order.
  package static func all(in text: String) -> [ParentColumn] {
    parts(of: text).compactMap { if case .column(let column) = $0 { column } else { nil } }
  }

  /// The text with a value in the place of each placeholder. Braces in a value have no meaning.
  package static func filling(_ text: String, with value: (ParentColumn) -> String) -> String {
    parts(of: text).reduce(into: "") { filled, part in
      switch part {
      case .text(let text): filled += text
      case .column(let column): filled += value(column)
      }
    }
  }

  private enum Part {
    case text(Substring)
    case column(ParentColumn)
  }

  /// Runs for each list of a sync. A `Regex` is compiled at each use, which takes longer than the request of the list.
  private static func parts(of text: String) -> [Part] {
    var parts: [Part] = []
    var (literal, next) = (text.startIndex, text.startIndex)
    while let end = text.utf8[next...].firstIndex(of: UInt8(ascii: "}")) {
      let after = text.utf8.index(after: end)
      if let open = text.utf8[next..<end].lastIndex(of: UInt8(ascii: "{")),
        let column = ParentColumn(name: text[text.utf8.index(after: open)..<end])
      {
        parts += [.text(text[literal..<open]), .column(column)]
        literal = after
      }
      next = after
    }
    return parts + [.text(text[literal...])]
  }
}

extension Collection<UInt8> {
  /// `[a-z][a-z0-9_]{0,39}`
  package var isResourceName: Bool {
    guard let first, first.isLowercaseLetter, count <= 40 else { return false }
    return allSatisfy { $0.isLowercaseLetter || $0.isDigitOrUnderscore }
  }

  /// `[A-Za-z_][A-Za-z0-9_]*`
  package var isColumnName: Bool {
    guard let first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
    return allSatisfy { ($0 | 0x20).isLowercaseLetter || $0.isDigitOrUnderscore }
  }
}

extension UInt8 {
  fileprivate var isLowercaseLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }

  fileprivate var isDigitOrUnderscore: Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || self == UInt8(ascii: "_")
  }
}
