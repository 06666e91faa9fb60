/// Converts numbers that a scanner has accepted, and digits in texts.
package enum JSONNumber {
  /// The value of digits with an optional minus, which may be escaped; nil if it does not fit into 64 bits.
  package static func integer(_ bytes: UnsafeBufferPointer<UInt8>, range: Range<Int>) -> Int64? {
    let negative = bytes[range.lowerBound] == UInt8(ascii: "-")
    // Accumulated as a negative number, because the negative range has one number more.
    var value: Int64 = 0
    for index in range.lowerBound + (negative ? 1 : 0)..<range.upperBound {
      let digit = bytes[index] &- 0x30
      guard digit < 10 else { return escaped(bytes, content: range) }
      let (shifted, over) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = shifted.subtractingReportingOverflow(Int64(digit))
      if over || carry { return nil }
      value = sum
    }
    if negative { return value }
    return value == .min ? nil : -value
  }

  private static func escaped(_ bytes: UnsafeBufferPointer<UInt8>, content: Range<Int>) -> Int64? {
    Int64(
      String(unsafeUninitializedCapacity: content.count) { JSONEscapes.unescape(bytes, content: content, into: $0) })
  }

  /// The nearest Double; nil if the number is too large for one.
  package static func double(_ bytes: UnsafeBufferPointer<UInt8>, range: Range<Int>) -> Double? {
    if let exact = short(bytes, range: range) { return exact }
    guard let value = Double(String(decoding: bytes[range], as: UTF8.self)), value.isFinite else { return nil }
    return value
  }

  /// A fast path for up to 15 digits and 22 decimal places. Both factors are exact Doubles, and their quotient is
  /// rounded correctly (Clinger 1990). Nearly all numbers of an API are of this kind.
  private static func short(_ bytes: UnsafeBufferPointer<UInt8>, range: Range<Int>) -> Double? {
    guard range.count <= 15 else { return nil }
    var (digits, places, isFraction): (Int64, Int, Bool) = (0, 0, false)
    let negative = bytes[range.lowerBound] == UInt8(ascii: "-")
    for index in range.lowerBound + (negative ? 1 : 0)..<range.upperBound {
      let digit = bytes[index] &- 0x30
      if digit < 10 {
        digits = digits * 10 + Int64(digit)
        if isFraction { places += 1 }
      } else if bytes[index] == UInt8(ascii: ".") {
        isFraction = true
      } else {
        return nil
      }
    }
    let value = Double(digits) / powers[places]
    return negative ? -value : value
  }

  private static let powers: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
  ]
}
