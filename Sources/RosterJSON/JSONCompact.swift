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
