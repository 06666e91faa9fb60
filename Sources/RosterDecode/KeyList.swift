/// The keys of a page in a few bytes each, for the cache to keep and to walk: of integers the difference to the one
/// before, of texts length and bytes. Which of the two it is, the plan knows (`RecordPlan.hasTextKeys`).
package struct KeyList: Sendable, Equatable {
  /// What the cache keeps. Only `KeyCursor` reads it.
  package private(set) var bytes: [UInt8] = []
  /// How many keys there are.
  package private(set) var count = 0
  private var previous: Int64 = 0

  /// No keys.
  package init() {}

  /// An integer key; a list has keys of one kind only.
  package mutating func append(_ key: Int64) {
    let step = key &- previous
    previous = key
    append(varint: UInt64(bitPattern: step << 1 ^ step >> 63))
    count += 1
  }

  /// A text key, as UTF-8.
  package mutating func append(_ key: UnsafeBufferPointer<UInt8>) {
    append(varint: UInt64(key.count))
    bytes.append(contentsOf: key)
    count += 1
  }

  /// Begins anew in the same memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    (count, previous) = (0, 0)
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

/// A record's key. A text is good for as long as what it was read from.
package enum RecordKey {
  /// 1…2^63-1.
  case integer(Int64)
  /// UTF-8; not empty.
  case text(UnsafeBufferPointer<UInt8>)
}

/// Walks the bytes of a `KeyList`. Bytes that are none (a damaged file) end the walk early; nothing outside them is
/// read.
package struct KeyCursor {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let isText: Bool
  private var at = 0
  private var previous: Int64 = 0

  /// Stands before the first key of `KeyList.bytes`, which must stay where they are.
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
