/// JSON without insignificant white space, so that only what upstream means makes a difference.
package enum JSONCompact {
  /// Writes a value that a scanner has found, white space between tokens aside; gives how many bytes it is.
  package static func write(
    _ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, into text: UnsafeMutableBufferPointer<UInt8>
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
