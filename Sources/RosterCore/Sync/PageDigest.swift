/// A digest of eight bytes, which shows that a body is byte for byte equal to the published one. It is SipHash-1-3
/// (Aumasson and Bernstein, 2012). Only this cache knows its key, so upstream cannot construct two bodies with the same
/// digest.
package struct PageDigest: Sendable, Equatable {
  private let first: UInt64
  private let second: UInt64

  /// Takes the two halves of a key, which must be random and stored with the digests.
  package init(first: UInt64, second: UInt64) {
    self.first = first
    self.second = second
  }

  /// - Parameter key: 16 bytes.
  package init(key: [UInt8]) {
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(first: number(key.prefix(8)), second: number(key.dropFirst(8).prefix(8)))
  }

  /// Returns the digest of a body.
  package func callAsFunction(_ body: [UInt8]) -> Int64 {
    body.withUnsafeBytes { self($0) }
  }

  /// Returns the digest of the bytes.
  package func callAsFunction(_ bytes: UnsafeRawBufferPointer) -> Int64 {
    var state = SipState(first, second: second)
    let whole = bytes.count & ~7
    for at in stride(from: 0, to: whole, by: 8) {
      state.take(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
    }
    // The last word contains the remaining bytes, and the length in its highest byte.
    var last = UInt64(truncatingIfNeeded: bytes.count) << 56
    for at in whole..<bytes.count { last |= UInt64(bytes[at]) << UInt64(8 * (at - whole)) }
    state.take(last)
    return Int64(bitPattern: state.finish())
  }
}

private struct SipState {
  private var v0: UInt64
  private var v1: UInt64
  private var v2: UInt64
  private var v3: UInt64

  init(_ first: UInt64, second: UInt64) {
    v0 = first ^ 0x736f_6d65_7073_6575
    v1 = second ^ 0x646f_7261_6e64_6f6d
    v2 = first ^ 0x6c79_6765_6e65_7261
    v3 = second ^ 0x7465_6462_7974_6573
  }

  @inline(__always)
  mutating func take(_ word: UInt64) {
    v3 ^= word
    round()
    v0 ^= word
  }

  mutating func finish() -> UInt64 {
    v2 ^= 0xFF
    for _ in 0..<3 { round() }
    return v0 ^ v1 ^ v2 ^ v3
  }

  @inline(__always)
  private mutating func round() {
    v0 &+= v1
    v1 = Self.rotated(v1, bits: 13) ^ v0
    v0 = Self.rotated(v0, bits: 32)
    v2 &+= v3
    v3 = Self.rotated(v3, bits: 16) ^ v2
    v0 &+= v3
    v3 = Self.rotated(v3, bits: 21) ^ v0
    v2 &+= v1
    v1 = Self.rotated(v1, bits: 17) ^ v2
    v2 = Self.rotated(v2, bits: 32)
  }

  @inline(__always)
  private static func rotated(_ word: UInt64, bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
}
