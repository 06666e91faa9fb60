internal import RosterModel

/// The first line of a request (RFC 9112 §3), where the parser tells no more than that it does not know the method or
/// the version.
enum RequestLine {
  /// `FOO /v1/status HTTP/1.1`: a token, a target, a version. False where the line has not arrived whole.
  static func isWellFormed(_ bytes: (some Collection<UInt8>)?) -> Bool {
    guard let bytes, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return false }
    let words = String(decoding: bytes[..<end], as: UTF8.self).split(
      separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, String(words[0]).isHTTPToken, !words[1].isEmpty else { return false }
    let version = words[2].hasSuffix("\r") ? words[2].dropLast() : words[2]
    return version.hasPrefix("HTTP/") && version.utf8.count == 8
  }
}
