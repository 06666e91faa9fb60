internal import RosterModel

/// The first line of a request (RFC 9112 §3). The parser only reports that it does not know the method or the version.
enum RequestLine {
  /// False if no line begins like this, whatever follows: for example a TLS client hello.
  static func mayBegin(with bytes: some Collection<UInt8>) -> Bool {
    String(decoding: bytes.prefix(1), as: UTF8.self).isHTTPToken
  }

  /// True for a token, a target and a version, such as `FOO /v1/status HTTP/1.1`. False if the line does not end with
  /// CR LF.
  static func isWellFormed(_ bytes: some Collection<UInt8>) -> Bool {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return false }
    let words = String(decoding: bytes[..<end], as: UTF8.self).split(
      separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, String(words[0]).isHTTPToken, !words[1].isEmpty else { return false }
    // The parser refuses a line that ends with LF alone because of its end, not because of its version.
    guard words[2].hasSuffix("\r") else { return false }
    let version = words[2].dropLast()
    return version.hasPrefix("HTTP/") && version.utf8.count == 8
  }
}
