extension [UInt8] {
  /// Without UTF-8's mark at the front, which a reader of JSON or TOML may pass over (RFC 8259 §8.1).
  package var withoutByteOrderMark: [UInt8] {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    return starts(with: mark) ? Array(dropFirst(mark.count)) : self
  }
}
