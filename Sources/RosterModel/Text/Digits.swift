extension UInt8 {
  /// True for the ASCII digits 0 to 9.
  package var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
}
