import FoundationEssentials

/// What of an address the first line of a request has (RFC 9112 §3.2.1), and what it leaves to the connection.
struct RequestTarget {
  /// Scheme and authority.
  let base: Substring
  /// Path and query; "/" at least.
  let path: String

  init?(_ url: String) {
    guard let url = url.utf8.allSatisfy(Self.canBeSent) ? url : URL(string: url)?.absoluteString,
      let start = url.firstRange(of: "://")?.upperBound
    else { return nil }
    let end = url[start...].firstIndex { "/?#".contains($0) } ?? url.endIndex
    base = url[..<end]
    let written = url[end...].prefix { $0 != "#" }
    path = written.first == "/" ? String(written) : "/\(written)"
  }

  /// What RFC 3986 leaves out is percent-encoded.
  private static func canBeSent(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"),
      UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      false
    default: byte > 0x20 && byte < 0x7F
    }
  }
}
