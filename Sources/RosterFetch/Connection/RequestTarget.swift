import FoundationEssentials
import RosterCore

/// The two parts of an address: the server, and the target in the request line (RFC 9112 §3.2.1).
struct RequestTarget {
  /// Scheme and authority.
  let base: Substring
  /// Path and query; at least "/".
  let path: String

  /// nil if the text has no `://`, or cannot be written as a URL.
  init?(_ url: String) {
    guard var url = url.hasOnly(Self.canBeSent) ? url : URL(written: url)?.absoluteString,
      let (end, path) = url.withUTF8(Self.divided)
    else { return nil }
    base = url[..<url.utf8.index(url.startIndex, offsetBy: end)]
    self.path = path
  }

  /// The offset at which the authority ends, and the path with the query.
  private static func divided(_ url: UnsafeBufferPointer<UInt8>) -> (end: Int, path: String)? {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url[colon...].starts(with: "://".utf8) else { return nil }
    let end = url[(colon + 3)...].firstIndex(where: endsAuthority) ?? url.endIndex
    let written = url[end...].prefix { $0 != UInt8(ascii: "#") }
    let path = String(decoding: written, as: UTF8.self)
    return (end, written.first == UInt8(ascii: "/") ? path : "/\(path)")
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
