/// A second reader of JSON (RFC 8259), slow and simple, that shares no code with RosterDecode.
struct PlainJSON {
  private let bytes: [UInt8]
  private var at = 0

  /// nil if the bytes are not JSON, or not UTF-8.
  static func read(_ bytes: [UInt8]) -> Written? {
    guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
    var reader = PlainJSON(bytes: bytes)
    guard let value = reader.value() else { return nil }
    reader.skipSpace()
    return reader.at == bytes.count ? value : nil
  }

  /// True if the text is shallow enough for a recursive reader.
  static func isShallow(_ bytes: [UInt8]) -> Bool { bytes.count { $0 == 0x5B || $0 == 0x7B } <= 300 }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// 0 at the end, which no token has.
  private var next: UInt8 { at < bytes.count ? bytes[at] : 0 }

  private mutating func skipSpace() { while " \t\n\r".utf8.contains(next) { at += 1 } }

  private func isNext(_ symbol: Unicode.Scalar) -> Bool { next == UInt8(ascii: symbol) }

  private mutating func take(_ symbol: Unicode.Scalar) -> Bool {
    guard isNext(symbol) else { return false }
    at += 1
    return true
  }

  private mutating func value() -> Written? {
    skipSpace()
    if isNext("\"") {
      let start = at
      return text().map { .scalar(String(decoding: bytes[start..<at], as: UTF8.self), text: $0) }
    }
    if take("{") { return object() }
    if take("[") { return list() }
    return word()
  }

  private mutating func object() -> Written? {
    var members: [Written.Member] = []
    skipSpace()
    if take("}") { return .object(members) }
    repeat {
      skipSpace()
      let start = at
      guard let name = text() else { return nil }
      let written = String(decoding: bytes[start + 1..<at - 1], as: UTF8.self)
      skipSpace()
      guard take(":"), let value = value() else { return nil }
      members.append(Written.Member(name: name, written: written, value: value))
      skipSpace()
    } while take(",")
    return take("}") ? .object(members) : nil
  }

  private mutating func list() -> Written? {
    var elements: [Written] = []
    skipSpace()
    if take("]") { return .list(elements) }
    repeat {
      guard let value = value() else { return nil }
      elements.append(value)
      skipSpace()
    } while take(",")
    return take("]") ? .list(elements) : nil
  }

  /// Reads all characters that a number or a literal may contain, and then checks them.
  private mutating func word() -> Written? {
    let start = at
    while "+-.".utf8.contains(next) || (0x30...0x39).contains(next) || (0x41...0x5A).contains(next & 0x5F) { at += 1 }
    let word = String(decoding: bytes[start..<at], as: UTF8.self)
    return ["true", "false", "null"].contains(word) || Self.isNumber(word) ? .scalar(word) : nil
  }

  private static func isNumber(_ word: String) -> Bool {
    let mantissa = word.utf8.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
    let halves = mantissa.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let whole = halves[0].first == UInt8(ascii: "-") ? halves[0].dropFirst() : halves[0]
    guard isDigits(whole), whole.count == 1 || whole.first != UInt8(ascii: "0"), halves.count < 3,
      halves.dropFirst().allSatisfy(isDigits)
    else { return false }
    if mantissa.count == word.utf8.count { return true }
    let exponent = word.utf8.dropFirst(mantissa.count + 1)
    return isDigits("+-".utf8.contains(exponent.first ?? 0) ? exponent.dropFirst() : exponent)
  }

  private static func isDigits(_ text: some Collection<UInt8>) -> Bool {
    !text.isEmpty && text.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Decodes `\u` escapes as UTF-16 units; half a pair becomes U+FFFD.
  private mutating func text() -> String? {
    guard take("\"") else { return nil }
    var units: [UInt16] = []
    while true {
      let start = at
      while at < bytes.count, bytes[at] >= 0x20, !isNext("\""), !isNext("\\") { at += 1 }
      units += String(decoding: bytes[start..<at], as: UTF8.self).utf16
      if take("\"") { return String(decoding: units, as: UTF16.self) }
      guard take("\\") else { return nil }
      if take("u") {
        let digits = String(decoding: bytes[at...].prefix(4), as: UTF8.self)
        guard digits.utf8.count == 4, digits.allSatisfy(\.isHexDigit), let unit = UInt16(digits, radix: 16) else {
          return nil
        }
        units.append(unit)
        at += 4
      } else {
        guard let plain = Self.escapes[next] else { return nil }
        units.append(plain)
        at += 1
      }
    }
  }

  private static let escapes: [UInt8: UInt16] = [
    UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F, UInt8(ascii: "b"): 8,
    UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13, UInt8(ascii: "t"): 9,
  ]
}
