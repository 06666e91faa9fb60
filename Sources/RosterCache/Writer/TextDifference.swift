/// The part in which a text differs from another one. Both are UTF-8, and the part has only whole characters. Here a
/// character is a Unicode scalar, as SQLite counts (sqlite.org/lang_corefunc.html#substr).
struct TextDifference: Equatable {
  /// The bytes of the text that differ.
  let part: Range<Int>
  /// The number of characters before the part, which are those of the other text.
  let head: Int
  /// The number of the character of the other text, counted from 1, with which the same text goes on after the part.
  let rest: Int

  init(of text: [UInt8], from other: [UInt8]) {
    (part, head, rest) = text.withUnsafeBytes { text in
      other.withUnsafeBytes { other in
        let start = Self.commonStart(text, other)
        let end = Self.commonEnd(text, other, atMost: min(text.count, other.count) - start)
        let head = Self.characters(other[..<start])
        let rest = head + Self.characters(other[start..<other.count - end]) + 1
        return (start..<text.count - end, head, rest)
      }
    }
  }

  private static func commonStart(_ text: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int {
    let limit = min(text.count, other.count)
    var count = 0
    while count + 8 <= limit, word(text, count) == word(other, count) { count += 8 }
    while count < limit, text[count] == other[count] { count += 1 }
    while continues(text, count) || continues(other, count) { count -= 1 }
    return count
  }

  private static func commonEnd(
    _ text: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer, atMost limit: Int
  ) -> Int {
    var count = 0
    while count + 8 <= limit, word(text, text.count - count - 8) == word(other, other.count - count - 8) { count += 8 }
    while count < limit, text[text.count - count - 1] == other[other.count - count - 1] { count += 1 }
    while continues(text, text.count - count) { count -= 1 }
    return count
  }

  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  /// True if a character does not begin at this byte (RFC 3629).
  private static func continues(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
    offset < bytes.count && bytes[offset] & 0xC0 == 0x80
  }

  private static func characters(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
    bytes.reduce(into: 0) { count, byte in if byte & 0xC0 != 0x80 { count += 1 } }
  }
}
