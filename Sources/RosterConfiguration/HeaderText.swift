/// What a header that somebody configures, or gives to `rosterd infer`, may be.
package enum HeaderText {
  static let allowedInName = "letters, digits and !#$%&'*+-.^_`|~"

  /// Whether rosterd alone sends it.
  package static func isOwn(_ name: String) -> Bool { own.contains(name.lowercased()) }

  /// They say where the request goes, frame it, ask for what the transport does not speak, or decide whether a page is
  /// transferred (P6).
  private static let own: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "range", "transfer-encoding", "upgrade",
  ]

  /// A clause that does not repeat the value, which may be a secret (T9); nil: nothing is wrong. RFC 9110 §5.5: a tab
  /// is allowed within a value.
  package static func mistake(in value: String) -> String? {
    if value.utf8.contains(where: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) { return "holds CR or LF" }
    let isControl = { (byte: UInt8) in (byte < 0x20 && byte != UInt8(ascii: "\t")) || byte == 0x7F }
    return value.utf8.contains(where: isControl) ? "holds a control character" : nil
  }
}
