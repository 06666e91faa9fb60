/// The escapes of JSON strings (RFC 8259 §7). All functions expect a string that a scanner has accepted.
package enum JSONEscapes {
  /// The byte that `\letter` means; nil for `u` and for invalid letters.
  static func byte(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: nil
    }
  }

  /// The number in `\uXXXX` at this position; nil if it is invalid.
  static func unit(_ bytes: UnsafeBufferPointer<UInt8>, at: Int) -> UInt16? {
    guard at + 6 <= bytes.count else { return nil }
    var value: UInt16 = 0
    for byte in bytes[at + 2..<at + 6] {
      switch byte {
      case 0x30...0x39: value = value << 4 | UInt16(byte - 0x30)
      case 0x41...0x46: value = value << 4 | UInt16(byte - 0x37)
      case 0x61...0x66: value = value << 4 | UInt16(byte - 0x57)
      default: return nil
      }
    }
    return value
  }

  /// Writes the unescaped text between the quotes. Returns the number of bytes written, which is at most that of
  /// `content`.
  package static func unescape(
    _ bytes: UnsafeBufferPointer<UInt8>, content: Range<Int>, into text: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    var rest = UnescapedBytes(bytes, content: content)
    var count = 0
    while let byte = rest.next() {
      text[count] = byte
      count += 1
    }
    return count
  }

  /// The text of a string that a scanner has accepted.
  package static func text(_ bytes: UnsafeBufferPointer<UInt8>, _ string: JSONSlice) -> String {
    let content = string.content
    guard string.kind == .escapedString else { return String(decoding: bytes[content], as: UTF8.self) }
    return String(unsafeUninitializedCapacity: content.count) { unescape(bytes, content: content, into: $0) }
  }

  /// True if UTF-8 can represent the text of a string that a scanner has accepted. It cannot represent half of a
  /// surrogate pair.
  package static func isEncodable(_ bytes: UnsafeBufferPointer<UInt8>, _ string: JSONSlice) -> Bool {
    guard string.kind == .escapedString else { return true }
    var rest = UnescapedBytes(bytes, content: string.content)
    while rest.next() != nil {}
    return !rest.hasHalfPair
  }
}

/// The bytes of a text with escapes, one by one after unescaping. `\uXXXX` with half a surrogate pair becomes U+FFFD,
/// because UTF-8 cannot represent it.
package struct UnescapedBytes {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let end: Int
  private var at: Int
  /// The remaining UTF-8 bytes of an escape, the next byte lowest.
  private var pending: UInt32 = 0
  private var pendingCount = 0
  /// True if half of a surrogate pair was among the bytes so far.
  private(set) var hasHalfPair = false

  /// - Parameter content: the text between the quotes, which a scanner has accepted.
  package init(_ bytes: UnsafeBufferPointer<UInt8>, content: Range<Int>) {
    self.bytes = bytes
    at = content.lowerBound
    end = content.upperBound
  }

  /// nil at the end.
  package mutating func next() -> UInt8? {
    if pendingCount > 0 { return takePending() }
    guard at < end else { return nil }
    let byte = bytes[at]
    guard byte == UInt8(ascii: "\\"), at + 1 < end else {
      at += 1
      return byte
    }
    if let plain = JSONEscapes.byte(bytes[at + 1]) {
      at += 2
      return plain
    }
    hold(scalar())
    return takePending()
  }

  private mutating func takePending() -> UInt8 {
    defer {
      pending >>= 8
      pendingCount -= 1
    }
    return UInt8(truncatingIfNeeded: pending)
  }

  private mutating func hold(_ scalar: Unicode.Scalar) {
    let encoded = UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    (pending, pendingCount) = (0, 0)
    for byte in encoded {
      pending |= UInt32(byte) << (8 * UInt32(pendingCount))
      pendingCount += 1
    }
  }

  private mutating func scalar() -> Unicode.Scalar {
    let first = JSONEscapes.unit(bytes, at: at) ?? 0xD800
    at += 6
    if let scalar = Unicode.Scalar(first) { return scalar }
    if UTF16.isLeadSurrogate(first), at + 6 <= end, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u"),
      let second = JSONEscapes.unit(bytes, at: at), UTF16.isTrailSurrogate(second)
    {
      at += 6
      return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }
    hasHalfPair = true
    return "\u{FFFD}"
  }
}
