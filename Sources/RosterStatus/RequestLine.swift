internal import RosterModel

/// The first line of a request (RFC 9112 §3), where the parser tells no more than that it does not know the method or
/// the version.
enum RequestLine {
  /// False where no line begins so, however it goes on: a TLS client's hello.
  static func mayBegin(with bytes: some Collection<UInt8>) -> Bool {
    String(decoding: bytes.prefix(1), as: UTF8.self).isHTTPToken
  }

  /// `FOO /v1/status HTTP/1.1`: a token, a target, a version. False where the line does not end with CR LF.
  static func isWellFormed(_ bytes: some Collection<UInt8>) -> Bool {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return false }
    let words = String(decoding: bytes[..<end], as: UTF8.self).split(
      separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, String(words[0]).isHTTPToken, !words[1].isEmpty else { return false }
    // A line that ends with LF alone is what the parser refuses, not its version.
    guard words[2].hasSuffix("\r") else { return false }
    let version = words[2].dropLast()
    return version.hasPrefix("HTTP/") && version.utf8.count == 8
  }
}
