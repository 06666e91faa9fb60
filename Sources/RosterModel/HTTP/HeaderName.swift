extension Request.Header {
  /// RFC 9110 §5.1: names are case-insensitive.
  package func isNamed(_ other: String) -> Bool {
    name.utf8.count == other.utf8.count && zip(name.utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
  }
}

extension UInt8 {
  fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}
