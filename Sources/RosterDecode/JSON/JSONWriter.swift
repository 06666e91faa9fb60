package import FoundationEssentials
package import RosterCore

/// Writes JSON into reusable memory. This is the only place that escapes text.
///
///     var json = JSONWriter()
///     json.object { json in
///       json.member("id", 7)
///       json.member("name", "Rick")
///     }
package struct JSONWriter: Sendable {
  /// The JSON written so far.
  package private(set) var bytes: [UInt8] = []
  /// True if the next member or element of the current list or object needs a comma before it.
  private var needsComma = false

  /// Starts with nothing written.
  package init() {}

  /// Starts with a tree.
  package init(_ value: JSONValue) { self.value(value) }

  /// The JSON written so far, as text.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Empties the writer and keeps its memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Writes an object. The closure writes names and values alternately.
  package mutating func object(_ members: (inout JSONWriter) throws -> Void) rethrows {
    try compound(UInt8(ascii: "{"), close: UInt8(ascii: "}"), content: members)
  }

  /// Writes an object and nothing else.
  package static func object(_ members: (inout JSONWriter) throws -> Void) rethrows -> JSONWriter {
    var json = JSONWriter()
    try json.object(members)
    return json
  }

  /// Writes a list. The closure writes its elements.
  package mutating func list(_ elements: (inout JSONWriter) throws -> Void) rethrows {
    try compound(UInt8(ascii: "["), close: UInt8(ascii: "]"), content: elements)
  }

  private mutating func compound(
    _ open: UInt8, close: UInt8, content: (inout JSONWriter) throws -> Void
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

  /// Writes null.
  package mutating func null() { raw("null".utf8) }
  /// Writes true or false.
  package mutating func value(_ value: Bool) { raw((value ? "true" : "false").utf8) }
  /// Writes a whole number.
  package mutating func value(_ value: some BinaryInteger) { raw(String(value).utf8) }
  /// Writes a whole number. Other modules would call the generic function unspecialized, which is several times slower.
  package mutating func value(_ value: Int64) { raw(String(value).utf8) }

  /// Writes a number. Infinity and NaN become null, because JSON has no form for them.
  package mutating func value(_ value: Double) { raw((value.isFinite ? value.description : "null").utf8) }

  /// Writes a text in quotes.
  package mutating func value(_ text: String) {
    begin()
    Self.append(text, to: &bytes)
    needsComma = true
  }

  /// Writes a tree. Numbers keep their original spelling.
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

  /// Writes a text given as UTF-8.
  package mutating func value(utf8 text: UnsafeBufferPointer<UInt8>) {
    begin()
    append(text, after: UnsafeBufferPointer(start: nil, count: 0))
  }

  /// Writes bytes that are already JSON.
  package mutating func raw(_ json: some Collection<UInt8>) {
    begin()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  /// Writes bytes that are already JSON. Other modules would call the generic function unspecialized.
  package mutating func raw(_ json: UnsafeBufferPointer<UInt8>) {
    begin()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  /// Writes a part of a list or object that the caller completes. The next value follows it without a comma.
  package mutating func part(_ json: UnsafeBufferPointer<UInt8>) {
    bytes.append(contentsOf: json)
    needsComma = false
  }

  /// Writes such a part and a text given as UTF-8 that follows it.
  package mutating func part(_ json: UnsafeBufferPointer<UInt8>, utf8 text: UnsafeBufferPointer<UInt8>) {
    append(text, after: json)
  }

  /// Appends a text in quotes after bytes that are already JSON. Most texts have nothing to escape and are copied at
  /// once.
  private mutating func append(_ text: UnsafeBufferPointer<UInt8>, after json: UnsafeBufferPointer<UInt8>) {
    needsComma = true
    guard text.isPlain else {
      bytes.append(contentsOf: json)
      return Self.append(text, to: &bytes)
    }
    bytes.append(addingCapacity: json.count + text.count + 2) { span in
      span.withUnsafeMutableBufferPointer { buffer, count in
        let memory = UnsafeMutableRawBufferPointer(buffer)
        memory.copyMemory(from: UnsafeRawBufferPointer(json))
        buffer[json.count] = UInt8(ascii: "\"")
        UnsafeMutableRawBufferPointer(rebasing: memory[(json.count + 1)...])
          .copyMemory(from: UnsafeRawBufferPointer(text))
        count = json.count + text.count + 2
        buffer[count - 1] = UInt8(ascii: "\"")
      }
    }
  }

  private mutating func begin() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }
}

extension JSONWriter {
  /// Writes a name and a text.
  package mutating func member(_ name: String, _ value: String) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and a whole number.
  package mutating func member(_ name: String, _ value: some BinaryInteger) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and a number; null for infinity and NaN.
  package mutating func member(_ name: String, _ value: Double) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and a text; null if the text is nil.
  package mutating func member(_ name: String, _ value: String?) {
    self.name(name)
    if let value { self.value(value) } else { null() }
  }

  /// Writes a name and true or false.
  package mutating func member(_ name: String, _ value: Bool) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and a tree.
  package mutating func member(_ name: String, _ value: JSONValue) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and a text that is already JSON; null if the text is nil.
  package mutating func member(_ name: String, json: String?) {
    self.name(name)
    raw((json ?? "null").utf8)
  }
}

extension JSONWriter {
  /// Appends one text in quotes, for callers that need no whole writer.
  package static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { append($0, to: &bytes) }
  }

  private static func append(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    appendEscaped(text, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Escapes text as SQLite's JSON functions do: only the characters that must be escaped, with short forms where they
  /// exist.
  private static func appendEscaped(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    var start = 0
    while true {
      let end = text.plainEnd(from: start)
      bytes.append(contentsOf: text.extracting(start..<end))
      guard end < text.count else { return }
      appendEscape(text[end], to: &bytes)
      start = end + 1
    }
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
      bytes.append(contentsOf: "u00\(byte.hex)".utf8)
    }
  }
}

/// JSON without insignificant white space, so that formatting alone is never a difference.
package enum JSONCompact {
  /// Writes a value that a scanner has accepted, without white space between its tokens. Returns the number of bytes
  /// written.
  package static func write(
    _ bytes: UnsafeBufferPointer<UInt8>, range: Range<Int>, into text: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    var (quoted, escaped, count) = (false, false, 0)
    for index in range {
      let byte = bytes[index]
      if quoted {
        if byte == UInt8(ascii: "\""), !escaped { quoted = false }
        escaped = byte == UInt8(ascii: "\\") && !escaped
      } else if byte == UInt8(ascii: "\"") {
        quoted = true
      } else if byte <= 0x20 {
        continue
      }
      text[count] = byte
      count += 1
    }
    return count
  }
}

extension Encodable {
  /// The value as one line of JSON. Keys are sorted, so that two answers can be compared, and a newline ends the line
  /// for terminals.
  package func jsonLine() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + [UInt8(ascii: "\n")]
  }
}

extension Unicode.Scalar {
  /// The escape `\uXXXX` of the character, or two of them (RFC 8259 §7).
  package var jsonEscape: String {
    String(self).utf16.map { "\\u" + String(UInt32($0) + 0x1_0000, radix: 16).dropFirst() }.joined()
  }
}

extension String {
  /// The same JSON lines, with escapes for all characters that control a terminal. Such characters occur only inside
  /// strings.
  package var printableJSON: String {
    func isKept(_ scalar: Unicode.Scalar) -> Bool { scalar == "\n" || !scalar.steersTerminal }
    guard !unicodeScalars.allSatisfy(isKept) else { return self }
    return unicodeScalars.map { isKept($0) ? String($0) : $0.jsonEscape }.joined()
  }
}
