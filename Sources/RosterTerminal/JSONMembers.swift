internal import FoundationEssentials

/// The members of a JSON object that is known to be well-formed, their values as they were written: no reader of numbers may touch those (P10).
enum JSONMembers {
  /// In their order. Empty for what is no object.
  static func of(_ object: String) -> [(name: String, value: String)] {
    elements(object, "{", "}").compactMap { member in
      guard let colon = Self.colon(in: member) else { return nil }
      let name = text(String(decoding: member[..<colon], as: UTF8.self))
      return (name ?? "", trimmed(member[(colon + 1)...]))
    }
  }

  /// The elements of a list.
  static func list(_ list: String) -> [String] { elements(list, "[", "]").map { trimmed($0) } }

  /// The text of a JSON string; nil for any other value.
  static func text(_ value: String) -> String? {
    try? JSONDecoder().decode(String.self, from: Data(value.utf8))
  }

  private static func elements(_ text: String, _ open: Unicode.Scalar, _ close: Unicode.Scalar) -> [ArraySlice<UInt8>] {
    let bytes = Array(trimmed(Array(text.utf8)[...]).utf8)
    guard bytes.first == UInt8(ascii: open), bytes.last == UInt8(ascii: close) else { return [] }
    let content = bytes.dropFirst().dropLast()
    if content.allSatisfy(isSpace) { return [] }
    var parts: [ArraySlice<UInt8>] = []
    var start = content.startIndex
    walk(content) { index, byte in
      guard byte == UInt8(ascii: ",") else { return }
      parts.append(content[start..<index])
      start = index + 1
    }
    return parts + [content[start...]]
  }

  private static func colon(in member: ArraySlice<UInt8>) -> Int? {
    var found: Int?
    walk(member) { index, byte in
      if byte == UInt8(ascii: ":"), found == nil { found = index }
    }
    return found
  }

  /// Calls `visit` with the bytes that are in no string, object or list.
  private static func walk(_ bytes: ArraySlice<UInt8>, _ visit: (Int, UInt8) -> Void) {
    var (depth, quoted, escaped) = (0, false, false)
    for (index, byte) in zip(bytes.indices, bytes) {
      if quoted {
        if byte == UInt8(ascii: "\""), !escaped { quoted = false }
        escaped = byte == UInt8(ascii: "\\") && !escaped
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): quoted = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: if depth == 0 { visit(index, byte) }
      }
    }
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    let rest = bytes.drop(while: isSpace)
    let end = rest.lastIndex { !isSpace($0) } ?? rest.startIndex - 1
    return String(decoding: rest[..<(end + 1)], as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
