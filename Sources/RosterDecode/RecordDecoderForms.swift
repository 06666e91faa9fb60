import RosterCore

/// Values that upstream writes in another form than the type of their column.
extension RecordDecoder {
  /// Reads other written forms of values: numbers and flags as texts, whole numbers with a fraction of zeros, flags as
  /// 0 and 1. A value that means null becomes null. Conditions have seen the original values.
  @inline(__always)
  mutating func readForms(_ row: CompiledFieldTree.Row) {
    for (index, column) in row.columns.enumerated() {
      if column.hasNulls { readNull(index, column, of: row) }
      guard column.readsForms else { continue }
      let node = column.node
      switch column.type {
      case .integer: if let digits = digits(slots[node]) { set(node, to: digits, kind: .integer) }
      case .real where slots[node].kind == .string: readNumber(node)
      case .boolean where slots[node].kind != .true && slots[node].kind != .false: readFlag(node)
      case .text, .real, .boolean, .json, .timestamp: continue
      }
    }
  }

  private mutating func readNull(_ index: Int, _ column: RowPlan.Column, of row: CompiledFieldTree.Row) {
    let columns = row.list.map { plan.resource.lists[$0].columns } ?? plan.resource.columns
    let slice = slots[column.node]
    for value in columns[index].nulls where equals(slice, scalar: value) {
      set(column.node, to: slice.range, kind: .null)
    }
  }

  /// A text that writes a number as JSON does.
  private func readNumber(_ node: Int) {
    let content = slots[node].content
    var scanner = JSONScanner(UnsafeBufferPointer(rebasing: bytes[content]))
    guard let number = try? scanner.value(), number.kind == .integer || number.kind == .fraction,
      number.range == 0..<content.count
    else { return }
    set(node, to: content, kind: number.kind)
  }

  private mutating func readFlag(_ node: Int) {
    let slice = slots[node]
    let flag: Bool? =
      switch slice.kind {
      case .integer: Self.bit(bytes[slice.range])
      case .string, .escapedString: Self.flag(String(decoding: text(slice), as: UTF8.self))
      case .absent, .null, .true, .false, .fraction, .list, .object: nil
      }
    if let flag { set(node, to: slice.range, kind: flag ? .true : .false) }
  }

  private func set(_ node: Int, to range: Range<Int>, kind: JSONKind) {
    slots[node] = JSONSlice(range.lowerBound, end: range.upperBound, kind: kind)
  }

  private static func flag(_ text: String) -> Bool? { Bool(written: text) ?? bit(text.utf8) }

  private static func bit(_ digits: some Sequence<UInt8>) -> Bool? {
    digits.elementsEqual([UInt8(ascii: "1")]) ? true : digits.elementsEqual([UInt8(ascii: "0")]) ? false : nil
  }

  /// The place of the digits of a text or fraction that writes a whole number; nil for other values.
  private func digits(_ slice: JSONSlice) -> Range<Int>? {
    switch slice.kind {
    case .string: isInteger(bytes[slice.content]) ? slice.content : nil
    case .escapedString: isInteger(Array(JSONEscapes.text(bytes, slice).utf8)[...]) ? slice.content : nil
    case .fraction: whole(slice.range).flatMap { isInteger(bytes[$0]) ? $0 : nil }
    case .absent, .null, .true, .false, .integer, .list, .object: nil
    }
  }

  /// The digits before a fraction of zeros (`12.0`); nil for other numbers.
  private func whole(_ range: Range<Int>) -> Range<Int>? {
    guard let point = range.first(where: { bytes[$0] == UInt8(ascii: ".") }),
      range[(point + 1)...].allSatisfy({ bytes[$0] == UInt8(ascii: "0") })
    else { return nil }
    return range.lowerBound..<point
  }

  /// True for digits as JSON writes an integer (RFC 8259 §6).
  private func isInteger<Text: RandomAccessCollection<UInt8>>(_ text: Text) -> Bool where Text.SubSequence == Text {
    let digits = text.first == UInt8(ascii: "-") ? text.dropFirst() : text
    guard let first = digits.first, digits.count < 20 else { return false }
    return digits.allSatisfy(\.isDigit) && (first != UInt8(ascii: "0") || digits.count == 1)
  }
}
