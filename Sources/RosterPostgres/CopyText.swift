package import RosterCore

/// Rows in the text format of COPY (PostgreSQL manual, "COPY", File Formats). PostgreSQL refuses NUL and surrogates in
/// a text, and some escapes and numbers in a `jsonb`: they are replaced and counted. In a key the replacement shows the
/// byte, so that different keys stay different.
package struct CopyText {
  /// Bytes of complete rows.
  package private(set) var bytes: [UInt8] = []
  /// Values in which something was replaced.
  package private(set) var replaced = 0
  private let isKey: [Bool]
  private let isTime: [Bool]

  /// No row yet.
  /// - Parameter table: the table of the rows; nil if no column is part of a key.
  package init(_ table: ReplicaTable? = nil) {
    let keys = Set((table.map { [$0.primaryKey] + $0.unique } ?? []).joined())
    isKey = table?.columns.map { keys.contains($0.name) } ?? []
    isTime = table?.columns.map { $0.type == .timestamp } ?? []
  }

  /// Forgets the rows and keeps the count.
  package mutating func removeRows() { bytes.removeAll(keepingCapacity: true) }

  /// Adds one row.
  package mutating func append(_ row: [FieldValue]) {
    for (index, value) in row.enumerated() {
      if index > 0 { bytes.append(Self.tab) }
      if index < isTime.count, isTime[index], case .text(let text) = value, let time = Timestamp.rfc3339(text) {
        bytes += Self.withoutPartOfLeapSecond(time)
      } else {
        append(value, isKey: index < isKey.count && isKey[index])
      }
    }
    bytes.append(Self.newline)
  }

  /// PostgreSQL takes a leap second only without a fraction.
  private static func withoutPartOfLeapSecond(_ time: [UInt8]) -> [UInt8] {
    guard time.count > 19, time[17] == UInt8(ascii: "6"), time[19] == UInt8(ascii: ".") else { return time }
    return Array(time[..<19] + time[20...].drop { (0x30...0x39).contains($0) })
  }

  private mutating func append(_ value: FieldValue, isKey: Bool) {
    switch value {
    case .null: bytes += [Self.backslash, UInt8(ascii: "N")]
    case .integer(let number): append(ascii: number.description)
    case .real(let number): append(ascii: number.description)
    case .boolean(let flag): bytes.append(UInt8(ascii: flag ? "t" : "f"))
    case .text(let text): if escape(text, isKey: isKey) { replaced += 1 }
    case .json(let json):
      var scan = JSONBText(json)
      let isReplaced = scan.sanitise()
      let isBroken = scan.sanitised.withUnsafeBufferPointer { escape($0, isKey: false) }
      if isReplaced || isBroken { replaced += 1 }
    }
  }

  /// `inf` and `nan` in the words of PostgreSQL are the same words without regard to case.
  private mutating func append(ascii text: String) { bytes.append(contentsOf: text.utf8) }

  /// True if a byte was replaced.
  private mutating func escape(_ text: UnsafeBufferPointer<UInt8>, isKey: Bool) -> Bool {
    var index = 0
    var isReplaced = false
    while index < text.count {
      // Most bytes of most texts are copied in one go.
      let start = index
      while index < text.count, Self.isPlain(text[index]) { index += 1 }
      if index > start { bytes.append(contentsOf: text[start..<index]) }
      guard index < text.count else { break }
      index += special(text, index: index, isKey: isKey, isReplaced: &isReplaced)
    }
    return isReplaced
  }

  /// Writes the escape of the character at `index`, and returns the character's length.
  private mutating func special(
    _ text: UnsafeBufferPointer<UInt8>, index: Int, isKey: Bool, isReplaced: inout Bool
  ) -> Int {
    switch text[index] {
    case Self.backslash: bytes += [Self.backslash, Self.backslash]
    case Self.tab: bytes += [Self.backslash, UInt8(ascii: "t")]
    case Self.newline: bytes += [Self.backslash, UInt8(ascii: "n")]
    case Self.carriageReturn: bytes += [Self.backslash, UInt8(ascii: "r")]
    default:
      if let length = UTF8Sequence.length(text, at: index), !(isKey && UTF8Sequence.isShownByte(text, at: index)) {
        bytes.append(contentsOf: text[index..<index + length])
        return length
      }
      bytes += UTF8Sequence.replacement
      if isKey { append(ascii: text[index].hex) }
      isReplaced = true
    }
    return 1
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x80 && byte != backslash
      || byte > 0 && byte < 0x20 && !(byte == tab || byte == newline || byte == carriageReturn) || byte == 0x7f
  }

  private static let tab = UInt8(ascii: "\t")
  private static let newline = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let backslash = UInt8(ascii: "\\")
}

extension FieldValue {
  /// Bytes that the value takes of its row at least, if the server compresses it or stores it elsewhere.
  var bytesInRow: Int {
    switch self {
    case .null: 0
    case .boolean: 1
    case .integer, .real: 8
    case .text(let text), .json(let text): min(text.count + 1, 24)
    }
  }

  /// The value as messages show it.
  var shown: String {
    switch self {
    case .null: "NULL"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .boolean(let flag): "\(flag)"
    case .text(let text), .json(let text): String(decoding: text.prefix(80), as: UTF8.self)
    }
  }
}

/// Well-formed UTF-8 (Unicode 15, table 3-7).
enum UTF8Sequence {
  /// U+FFFD.
  static let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]

  /// True for a U+FFFD that two hexadecimal digits follow, as they follow a replaced byte of a key. Its own bytes are
  /// replaced in a key, since no other key may look like that one.
  static func isShownByte(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
    guard index + 5 <= text.count, text[index..<index + 3].elementsEqual(replacement) else { return false }
    return text[index + 3..<index + 5].allSatisfy { digit in
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit)
    }
  }

  /// Bytes of the multi-byte character there; nil for NUL and for anything that is not well-formed.
  static func length(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int? {
    let lead = text[index]
    let (count, second): (Int, ClosedRange<UInt8>)
    switch lead {
    case 0xC2...0xDF: (count, second) = (2, 0x80...0xBF)
    case 0xE0: (count, second) = (3, 0xA0...0xBF)
    case 0xED: (count, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (count, second) = (3, 0x80...0xBF)
    case 0xF0: (count, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (count, second) = (4, 0x80...0xBF)
    case 0xF4: (count, second) = (4, 0x80...0x8F)
    default: return nil
    }
    guard index + count <= text.count, second.contains(text[index + 1]) else { return nil }
    for place in index + 2..<max(index + count, index + 2) where !(0x80...0xBF).contains(text[place]) { return nil }
    return count
  }
}
