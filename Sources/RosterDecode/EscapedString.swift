import RosterJSON

/// What stands between the quotes of a JSON string that has escapes (RFC 8259 §7).
struct EscapedString {
  let bytes: UnsafeBufferPointer<UInt8>
  let content: Range<Int>

  func text() throws(Malformed) -> String {
    var units: [UInt8] = []
    units.reserveCapacity(content.count)
    var at = content.lowerBound
    while at < content.upperBound {
      if bytes[at] == UInt8(ascii: "\\") {
        try appendEscape(at: &at, to: &units)
      } else {
        units.append(bytes[at])
        at += 1
      }
    }
    return String(decoding: units, as: UTF8.self)
  }

  private func appendEscape(at: inout Int, to units: inout [UInt8]) throws(Malformed) {
    let letter = bytes[at + 1]
    if letter == UInt8(ascii: "u") {
      units.append(contentsOf: UTF8.encode(try scalar(at: &at)) ?? UTF8.encodedReplacementCharacter)
      return
    }
    guard let byte = Self.escapes[letter] else { throw Malformed(offset: at, expected: "a known escape") }
    units.append(byte)
    at += 2
  }

  private static let escapes: [UInt8: UInt8] = [
    UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F, UInt8(ascii: "b"): 0x08,
    UInt8(ascii: "f"): 0x0C, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
  ]

  /// `\uXXXX`, a pair of surrogates taken together; U+FFFD for one alone, which no text can hold.
  private func scalar(at: inout Int) throws(Malformed) -> Unicode.Scalar {
    let first = try unit(at: at)
    at += 6
    if let scalar = Unicode.Scalar(first) { return scalar }
    if UTF16.isLeadSurrogate(first), at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"),
      bytes[at + 1] == UInt8(ascii: "u")
    {
      let second = try unit(at: at)
      if UTF16.isTrailSurrogate(second) {
        at += 6
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
      }
    }
    return "\u{FFFD}"
  }

  private func unit(at: Int) throws(Malformed) -> UInt16 {
    let malformed = Malformed(offset: at, expected: "four hexadecimal digits")
    guard at + 6 <= bytes.count else { throw malformed }
    var value: UInt16 = 0
    for byte in bytes[at + 2..<at + 6] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw malformed
      }
      value = value << 4 | UInt16(digit)
    }
    return value
  }
}
