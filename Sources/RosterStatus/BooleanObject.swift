import RosterJSON

/// Parses a JSON object whose values are all true or false.
enum BooleanObject {
  /// nil unless the bytes are a single such object in UTF-8, without a byte order mark and without duplicate names (RFC
  /// 8259 §4, §8.1).
  static func read(_ bytes: [UInt8]) -> [String: Bool]? {
    guard let members = values(bytes) else { return nil }
    let flags = members.compactMapValues { $0 }
    return flags.count == members.count ? flags : nil
  }

  /// The members of such an object, whose values may also be others; nil for these.
  static func values(_ bytes: [UInt8]) -> [String: Bool?]? {
    bytes.withUnsafeBufferPointer { try? members($0) }
  }

  private static func members(_ bytes: UnsafeBufferPointer<UInt8>) throws(Malformed) -> [String: Bool?] {
    try JSONScanner.checkUTF8(bytes)
    var scanner = JSONScanner(bytes)
    guard scanner.peek() == UInt8(ascii: "{") else { throw scanner.malformed("an object") }
    scanner.enter()
    var members: [String: Bool?] = [:]
    var goesOn = !scanner.isEmpty(until: UInt8(ascii: "}"))
    while goesOn {
      let name = JSONEscapes.text(bytes, try scanner.name())
      let kind = try scanner.value().kind
      let flag: Bool? = kind == .true ? true : kind == .false ? false : nil
      guard members.updateValue(flag, forKey: name) == nil else { throw scanner.malformed("a name once") }
      goesOn = try scanner.goesOn(until: UInt8(ascii: "}"))
    }
    try scanner.end()
    return members
  }
}
