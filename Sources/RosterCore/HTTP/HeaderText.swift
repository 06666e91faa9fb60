/// Checks headers that a user configures or gives to `rosterd infer`.
package enum HeaderText {
  /// The bytes of a header's name in words.
  package static let allowedInName = "letters, digits and !#$%&'*+-.^_`|~"

  /// True if only rosterd may send this header.
  package static func isOwn(_ name: String) -> Bool { own.contains(name.lowercased()) }

  /// These headers select the server, frame the request, ask for unsupported features, or decide whether a page is
  /// transferred.
  private static let own: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "range", "transfer-encoding", "upgrade",
  ]

  /// True for a header of rosterd's own that a definition may send. An incremental pull may start in it, without a
  /// validator beside it, or it may select a page (Heroku's Range).
  package static func canStart(_ name: String) -> Bool { ["if-modified-since", "range"].contains(name.lowercased()) }

  /// A clause that does not repeat the value, which may be a secret; nil if the value is valid. A tab is allowed
  /// within a value (RFC 9110 §5.5).
  package static func mistake(in value: String) -> String? {
    if value.utf8.contains(where: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) { return "holds CR or LF" }
    let isControl = { (byte: UInt8) in (byte < 0x20 && byte != UInt8(ascii: "\t")) || byte == 0x7F }
    return value.utf8.contains(where: isControl) ? "holds a control character" : nil
  }
}

extension Request.Header {
  /// RFC 9110 §5.1: names are case-insensitive.
  package func isNamed(_ other: String) -> Bool {
    name.utf8.count == other.utf8.count && zip(name.utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
  }
}

extension UInt8 {
  fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension StringProtocol {
  /// The text without the white space and line ends around it. These are no part of a header's value (RFC 9110 §5.5),
  /// nor of a token. NIO's parser keeps trailing white space.
  package var trimmed: String {
    let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
    var bytes = Substring(self).utf8
    while bytes.first.map(isSpace) == true { bytes.removeFirst() }
    while bytes.last.map(isSpace) == true { bytes.removeLast() }
    return String(Substring(bytes))
  }
}
