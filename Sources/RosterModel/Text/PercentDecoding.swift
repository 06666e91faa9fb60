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

extension UInt8 {
  /// nil unless there are two hexadecimal digits.
  fileprivate init?(hex digits: ArraySlice<UInt8>) {
    let values = digits.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    guard values.count == 2 else { return nil }
    self = UInt8(values[0] << 4 | values[1])
  }
}
