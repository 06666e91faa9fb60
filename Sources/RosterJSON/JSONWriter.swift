package import RosterModel

/// Writes JSON into bytes that are used again: the one place that knows how text is escaped.
///
///     var json = JSONWriter()
///     json.object { json in
///       json.member("id", 7)
///       json.member("name", "Rick")
///     }
package struct JSONWriter: Sendable {
  /// What has been written.
  package private(set) var bytes: [UInt8] = []
  /// Something stands before the next member or element, in the list or object at hand.
  private var needsComma = false

  /// Nothing is written yet.
  package init() {}

  /// The same as text.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Begins anew in the same memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// An object, of what the closure writes: names and values in turns.
  package mutating func object(_ members: (inout JSONWriter) throws -> Void) rethrows {
    try compound(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
  }

  /// A list, of what the closure writes.
  package mutating func list(_ elements: (inout JSONWriter) throws -> Void) rethrows {
    try compound(UInt8(ascii: "["), UInt8(ascii: "]"), elements)
  }

  private mutating func compound(
    _ open: UInt8, _ close: UInt8, _ content: (inout JSONWriter) throws -> Void
  ) rethrows {
    begin()
    bytes.append(open)
    needsComma = false
    try content(&self)
    bytes.append(close)
    needsComma = true
  }

  /// The name of the member whose value is written next.
  package mutating func name(_ name: String) {
    begin()
    Self.append(name, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// null
  package mutating func null() { raw("null".utf8) }
  /// true or false.
  package mutating func value(_ value: Bool) { raw((value ? "true" : "false").utf8) }
  /// A whole number.
  package mutating func value(_ value: some BinaryInteger) { raw(String(value).utf8) }

  /// JSON has no infinity and no NaN: null.
  package mutating func value(_ value: Double) { raw((value.isFinite ? value.description : "null").utf8) }

  /// Text, in quotes.
  package mutating func value(_ text: String) {
    begin()
    Self.append(text, to: &bytes)
    needsComma = true
  }

  /// A tree, its numbers as they were written.
  package mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .boolean(let flag): self.value(flag)
    case .number(let digits): raw(digits.utf8)
    case .text(let text): self.value(text)
    case .list(let elements): list { for element in elements { $0.value(element) } }
    case .object(let members): object { for member in members { $0.member(member.name, member.value) } }
    }
  }

  /// Text as UTF-8 bytes.
  package mutating func value(utf8 text: UnsafeBufferPointer<UInt8>) {
    begin()
    bytes.append(UInt8(ascii: "\""))
    Self.appendEscaped(text, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  /// What is JSON already.
  package mutating func raw(_ json: some Collection<UInt8>) {
    begin()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  private mutating func begin() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }
}

extension JSONWriter {
  /// A name and its text.
  package mutating func member(_ name: String, _ value: String) {
    self.name(name)
    self.value(value)
  }

  /// A name and its whole number.
  package mutating func member(_ name: String, _ value: some BinaryInteger) {
    self.name(name)
    self.value(value)
  }

  /// A name and its number; null for infinity and NaN.
  package mutating func member(_ name: String, _ value: Double) {
    self.name(name)
    self.value(value)
  }

  /// A name and its text; nil is null.
  package mutating func member(_ name: String, _ value: String?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }

  /// A name and its true or false.
  package mutating func member(_ name: String, _ value: Bool) {
    self.name(name)
    self.value(value)
  }

  /// A name and its tree.
  package mutating func member(_ name: String, _ value: JSONValue) {
    self.name(name)
    self.value(value)
  }
}

extension JSONWriter {
  /// Text in quotes, for whoever writes a single one.
  package static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { appendEscaped($0, to: &bytes) }
    bytes.append(UInt8(ascii: "\""))
  }

  /// As SQLite's JSON functions write text: nothing but what must be is escaped, the short forms where there are some.
  private static func appendEscaped(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    var plain = 0
    for index in text.indices where text[index] < 0x20 || text[index] == 0x22 || text[index] == 0x5C {
      bytes.append(contentsOf: text[plain..<index])
      appendEscape(text[index], to: &bytes)
      plain = index + 1
    }
    bytes.append(contentsOf: text[plain..<text.count])
  }

  private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    case 0x08: bytes.append(UInt8(ascii: "b"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0C: bytes.append(UInt8(ascii: "f"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    default:
      bytes.append(contentsOf: "u00".utf8)
      bytes.append(contentsOf: (byte < 0x10 ? "0" : "").utf8)
      bytes.append(contentsOf: String(byte, radix: 16).utf8)
    }
  }
}
