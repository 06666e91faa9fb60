/// A JSON text as `jsonb` accepts it (PostgreSQL manual, "JSON Types"). It has no \u0000, no surrogate without a
/// partner, and no number beyond the range of `numeric`.
struct JSONBText {
  private let text: UnsafeBufferPointer<UInt8>
  /// The text to store.
  private(set) var sanitised: [UInt8] = []
  private var index = 0

  init(_ text: UnsafeBufferPointer<UInt8>) {
    self.text = text
    sanitised.reserveCapacity(text.count)
  }

  /// True if something was replaced.
  mutating func sanitise() -> Bool {
    var isReplaced = false
    var isInString = false
    while index < text.count {
      let byte = text[index]
      switch byte {
      case UInt8(ascii: "\""):
        isInString.toggle()
        copy(1)
      case UInt8(ascii: "\\") where isInString: if escape() { isReplaced = true }
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        if isInString { copy(1) } else if number() { isReplaced = true }
      default: copy(1)
      }
    }
    return isReplaced
  }

  private mutating func copy(_ count: Int) {
    let end = min(index + count, text.count)
    sanitised.append(contentsOf: text[index..<end])
    index = end
  }

  /// True if the escape was replaced.
  private mutating func escape() -> Bool {
    guard let unit = unit(at: index) else {
      copy(2)
      return false
    }
    switch unit {
    case 0, 0xDC00...0xDFFF: return replace()
    case 0xD800...0xDBFF:
      guard let next = self.unit(at: index + 6), (0xDC00...0xDFFF).contains(next) else { return replace() }
      copy(12)
    default: copy(6)
    }
    return false
  }

  private mutating func replace() -> Bool {
    sanitised.append(contentsOf: #"\ufffd"#.utf8)
    index += 6
    return true
  }

  /// The code unit of `\uXXXX` at that place; nil for anything else.
  private func unit(at place: Int) -> UInt16? {
    guard place + 6 <= text.count, text[place] == UInt8(ascii: "\\"), text[place + 1] == UInt8(ascii: "u") else {
      return nil
    }
    return UInt16(String(decoding: text[place + 2..<place + 6], as: UTF8.self), radix: 16)
  }

  /// True if the number was replaced by the same digits as a string.
  private mutating func number() -> Bool {
    let start = index
    var (digits, exponent) = (0, Int?.none)
    while index < text.count, Self.isOfNumber(text[index]) {
      if text[index] | 0x20 == UInt8(ascii: "e") { exponent = index + 1 }
      if exponent == nil, Self.isDigit(text[index]) { digits += 1 }
      index += 1
    }
    let power = exponent.map { Int(String(decoding: text[$0..<index], as: UTF8.self)) ?? Int.max }
    let isTooLarge =
      digits > Self.maxDigits || power.map { !(-Self.maxDigits...Self.maxDigits).contains($0) } ?? false
    if isTooLarge { sanitised.append(UInt8(ascii: "\"")) }
    sanitised.append(contentsOf: text[start..<index])
    if isTooLarge { sanitised.append(UInt8(ascii: "\"")) }
    return isTooLarge
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func isOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
      UInt8(ascii: "e"), UInt8(ascii: "E"):
      true
    default: false
    }
  }

  /// `numeric` has 16,383 digits after the decimal point, and more before it.
  private static let maxDigits = 8_000
}
