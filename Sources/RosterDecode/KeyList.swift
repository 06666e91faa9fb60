/// The keys of a page in a compact form that the cache stores. An integer key is stored as the difference to the
/// previous key, a text key as its length and its bytes. `RecordPlan.hasTextKeys` says which form applies.
package struct KeyList: Sendable, Equatable {
  /// The bytes that the cache stores. Only `KeyCursor` reads them.
  package private(set) var bytes: [UInt8] = []
  /// Number of keys.
  package private(set) var count = 0
  private var previous: Int64 = 0

  /// No keys.
  package init() {}

  /// Appends an integer key. A list has keys of one kind only.
  package mutating func append(_ key: Int64) {
    let step = key &- previous
    previous = key
    append(varint: UInt64(bitPattern: step << 1 ^ step >> 63))
    count += 1
  }

  /// Appends a text key, which is UTF-8.
  package mutating func append(_ key: UnsafeBufferPointer<UInt8>) {
    append(varint: UInt64(key.count))
    bytes.append(contentsOf: key)
    count += 1
  }

  /// LEB128: seven bits a byte, the lowest first.
  private mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}

/// A record's key. A text key is valid as long as the memory that it was read from.
package enum RecordKey {
  /// Any integer of 64 bits.
  case integer(Int64)
  /// UTF-8; not empty.
  case text(UnsafeBufferPointer<UInt8>)
}

/// Reads the keys of a `KeyList` one by one. Invalid bytes (a damaged file) end the list early. The cursor never reads
/// beyond the bytes.
package struct KeyCursor {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let isText: Bool
  private var at = 0
  private var previous: Int64 = 0

  /// Starts before the first key of `KeyList.bytes`, which must stay in place.
  package init(_ bytes: UnsafeBufferPointer<UInt8>, isText: Bool) {
    self.bytes = bytes
    self.isText = isText
  }

  /// nil at the end.
  package mutating func next() -> RecordKey? {
    guard let value = varint() else { return nil }
    if isText {
      guard let length = Int(exactly: value), length <= bytes.count - at else { return nil }
      defer { at += length }
      return .text(UnsafeBufferPointer(rebasing: bytes[at..<at + length]))
    }
    previous &+= Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    return .integer(previous)
  }

  private mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard at < bytes.count else { return nil }
      let byte = bytes[at]
      at += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    return nil
  }
}
