/// The texts of one row, one after the other in memory that is used again for the next: SQLite reads them where they are.
struct TextRow {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []

  mutating func clear() {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  mutating func append(_ text: String) {
    bytes.append(contentsOf: text.utf8)
    ends.append(bytes.count)
  }

  /// A JSON list, as SQLite's json_group_array writes it, so that equal lists are equal texts.
  mutating func append(list: [String]) {
    JSONList.write(list, to: &bytes)
    ends.append(bytes.count)
  }

  /// Hands over each text, then does the work; the memory is good until that is done.
  func forEach<Result>(
    _ body: (Int, UnsafeBufferPointer<UInt8>) -> Void, then work: () throws -> Result
  ) rethrows -> Result {
    try bytes.withUnsafeBufferPointer { buffer in
      var start = 0
      for (index, end) in ends.enumerated() {
        body(index, UnsafeBufferPointer(rebasing: buffer[start..<end]))
        start = end
      }
      return try work()
    }
  }
}

/// Writes JSON lists the way SQLite does.
enum JSONList {
  static func write(_ strings: [String], to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "["))
    for (index, string) in strings.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(UInt8(ascii: "\""))
      write(string, to: &bytes)
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(UInt8(ascii: "]"))
  }

  static func text(_ numbers: [Int64]) -> String {
    "[" + numbers.map(String.init).joined(separator: ",") + "]"
  }

  private static func write(_ string: String, to bytes: inout [UInt8]) {
    guard string.utf8.contains(where: mustBeEscaped) else {
      return bytes.append(contentsOf: string.utf8)
    }
    for byte in string.utf8 {
      if mustBeEscaped(byte) { bytes.append(contentsOf: escape(byte).utf8) } else { bytes.append(byte) }
    }
  }

  private static func mustBeEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private static func escape(_ byte: UInt8) -> String {
    switch byte {
    case UInt8(ascii: "\""): #"\""#
    case UInt8(ascii: "\\"): #"\\"#
    case 0x08: #"\b"#
    case 0x09: #"\t"#
    case 0x0A: #"\n"#
    case 0x0C: #"\f"#
    case 0x0D: #"\r"#
    default: #"\u00"# + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
    }
  }
}
