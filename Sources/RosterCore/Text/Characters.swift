extension UInt8 {
  /// True for the ASCII digits 0 to 9.
  package var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }

  /// True for the characters that an address never has to encode (RFC 3986 §2.3).
  package var isUnreserved: Bool {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: isDigit
    }
  }
}

extension Unicode.Scalar {
  /// True for a scalar that would steer a terminal, forge a line or hide a text. These are controls, line ends, marks
  /// that turn the direction of the text around them (UAX 9 §2), and invisible characters that no script needs.
  package var steersTerminal: Bool {
    // The usual case is decided without a look at Unicode's tables.
    if isASCII { return value < 0x20 || value == 0x7F }
    return switch value {
    case 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF, 0xE0000...0xE007F: true
    default: [.control, .lineSeparator, .paragraphSeparator].contains(properties.generalCategory)
    }
  }
}

extension String {
  /// True if each byte is a printable character of ASCII, which takes one cell of a terminal. Most texts are so, and
  /// this is decided far faster than the properties of Unicode.
  package var isPrintableASCII: Bool { utf8.allSatisfy { 0x20 <= $0 && $0 < 0x7F } }

  /// The text with a replacement for each character that controls a terminal.
  package var printable: String {
    guard !isPrintableASCII, unicodeScalars.contains(where: \.steersTerminal) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0.steersTerminal ? "\u{FFFD}" : $0 }))
  }
}

extension [UInt8] {
  /// The bytes without a leading UTF-8 byte order mark, which a reader of JSON or TOML may ignore (RFC 8259 §8.1).
  package var withoutByteOrderMark: [UInt8] {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    return starts(with: mark) ? Array(dropFirst(mark.count)) : self
  }
}

extension Collection<UInt8> {
  /// The bytes with each percent escape decoded (RFC 3986 §2.1). Invalid escapes are unchanged.
  /// - Parameter isForm: true if a plus sign is a space, as in `application/x-www-form-urlencoded`.
  package func percentDecoded(isForm: Bool = false) -> [UInt8] {
    var decoded: [UInt8] = []
    var rest = Array(self)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = UInt8(hex: rest.prefix(2)) {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(isForm && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return decoded
  }
}

extension String {
  /// The text with a percent escape for each of its bytes that is not kept (RFC 3986 §2.1).
  package func percentEncoded(keeping isKept: (UInt8) -> Bool) -> String {
    if utf8.allSatisfy(isKept) { return self }
    return String(decoding: utf8.flatMap { isKept($0) ? [$0] : $0.percentEscape }, as: UTF8.self)
  }
}

extension UInt8 {
  /// The byte as `%` and two hexadecimal digits (RFC 3986 §2.1).
  package var percentEscape: [UInt8] { [UInt8(ascii: "%")] + hex.uppercased().utf8 }

  /// The byte as two hexadecimal digits.
  package var hex: String { (self < 0x10 ? "0" : "") + String(self, radix: 16) }

  /// nil unless there are two hexadecimal digits.
  fileprivate init?(hex digits: ArraySlice<UInt8>) {
    let values = digits.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    guard values.count == 2 else { return nil }
    self = UInt8(values[0] << 4 | values[1])
  }
}

extension Bool {
  /// A flag as servers write it, in any case: `true`, `yes` or `Y`. nil for another text.
  package init?(written text: String) {
    switch text.lowercased() {
    case "true", "yes", "y": self = true
    case "false", "no", "n": self = false
    case _: return nil
    }
  }
}

extension Int {
  /// The number with its noun: `1 page`, `826 records`, `2 refreshes`, `3 retries`.
  package func counted(as noun: String) -> String { "\(self) \(nouns(noun))" }

  /// The noun in the form that fits the number: `page` for 1, else `pages`.
  package func nouns(_ noun: String) -> String {
    if self == 1 { return noun }
    let isVowelBeforeY = noun.dropLast().last.map("aeiou".contains) ?? false
    if noun.hasSuffix("y"), !isVowelBeforeY { return "\(noun.dropLast())ies" }
    return noun + (noun.hasSuffix("sh") ? "es" : "s")
  }
}
