extension UInt8 {
  /// Whether it is ASCII's 0 to 9.
  package var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
}
