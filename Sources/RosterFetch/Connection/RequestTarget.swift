import FoundationEssentials

/// The two parts of an address: the server, and the target in the request line (RFC 9112 §3.2.1).
struct RequestTarget {
  /// Scheme and authority.
  let base: Substring
  /// Path and query; at least "/".
  let path: String

  /// nil if the text has no `://`, or cannot be written as a URL.
  init?(_ url: String) {
    // Comparing characters instead of bytes took an eighth of the CPU time of an unchanged sync.
    guard let url = url.utf8.allSatisfy(Self.canBeSent) ? url : URL(string: url)?.absoluteString,
      let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), url.utf8[colon...].starts(with: "://".utf8)
    else { return nil }
    let start = url.utf8.index(colon, offsetBy: 3)
    let end = url.utf8[start...].firstIndex(where: Self.endsAuthority) ?? url.endIndex
    base = url[..<end]
    let written = url.utf8[end...].prefix { $0 != UInt8(ascii: "#") }
    path = written.first == UInt8(ascii: "/") ? String(Substring(written)) : "/\(Substring(written))"
  }

  /// The end of an authority (RFC 3986 §3.2).
  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  /// A byte that RFC 3986 allows; any other byte is percent-encoded.
  private static func canBeSent(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"),
      UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      false
    default: byte > 0x20 && byte < 0x7F
    }
  }
}
