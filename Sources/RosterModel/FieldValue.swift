extension String {
  /// A header's value without the white space around it, which is no part of it (RFC 9110 §5.5): NIO's parser leaves
  /// what stands behind it.
  package var fieldValue: String {
    guard isSpace(utf8.first) || isSpace(utf8.last) else { return self }
    var bytes = utf8.drop(while: isSpace)
    while isSpace(bytes.last) { bytes.removeLast() }
    return String(Substring(bytes))
  }
}

/// SP and HTAB (RFC 9110 §5.6.3).
private func isSpace(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
