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
