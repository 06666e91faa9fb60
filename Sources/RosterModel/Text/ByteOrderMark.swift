extension [UInt8] {
  /// The bytes without a leading UTF-8 byte order mark, which a reader of JSON or TOML may ignore (RFC 8259 §8.1).
  package var withoutByteOrderMark: [UInt8] {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    return starts(with: mark) ? Array(dropFirst(mark.count)) : self
  }
}
