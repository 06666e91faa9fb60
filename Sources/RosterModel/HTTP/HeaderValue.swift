extension String {
  /// The value without surrounding white space, which is not part of a header's value (RFC 9110 §5.5). NIO's parser
  /// keeps trailing white space.
  package var fieldValue: String {
    guard isSpace(utf8.first) || isSpace(utf8.last) else { return self }
    var bytes = utf8.drop(while: isSpace)
    while isSpace(bytes.last) { bytes.removeLast() }
    return String(Substring(bytes))
  }
}

/// SP and HTAB (RFC 9110 §5.6.3).
private func isSpace(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
