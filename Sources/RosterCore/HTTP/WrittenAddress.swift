package import FoundationEssentials
import Glibc

extension URL {
  /// Reads an address as people and APIs write it. Bytes that RFC 3986 does not allow there, such as the brackets of
  /// `page[number]`, are percent-encoded, and nothing else changes.
  ///
  /// `URL(string:)` encodes the whole query or path if it has one such byte, so that `%2B` becomes `%252B`.
  package init?(written text: String, relativeTo base: URL? = nil) {
    self.init(string: text.encodedAsAddress, relativeTo: base)
  }
}

extension String {
  /// The address with all bytes percent-encoded that RFC 3986 allows neither in a path nor in a query. The authority
  /// is unchanged.
  package var encodedAsAddress: String {
    if utf8.allSatisfy(\.isOfAddress) { return self }
    let bytes = Array(utf8)
    let authority = Self.authority(bytes)
    var hasFragment = false
    var encoded: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      let isPlain =
        authority.contains(index) || byte.isOfAddress
        || (byte == UInt8(ascii: "%") && bytes[(index + 1)...].prefix(2).count { $0.isHexDigit } == 2)
        || (byte == UInt8(ascii: "#") && !hasFragment)
      if byte == UInt8(ascii: "#") { hasFragment = true }
      if isPlain { encoded.append(byte) } else { encoded += byte.percentEscape }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// The range of host and port in `scheme://host:port/…` or `//host…` (RFC 3986 §3.2).
  private static func authority(_ bytes: [UInt8]) -> Range<Int> {
    let start = bytes.firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
    guard bytes[start...].starts(with: "//".utf8), start == 0 || bytes[start - 1] == UInt8(ascii: ":") else {
      return 0..<0
    }
    return start..<(bytes[(start + 2)...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex)
  }
}

extension UInt8 {
  /// A byte of a path or a query, `/` and `?` included; `%` begins an escape (RFC 3986 §3.3, §3.4).
  fileprivate var isOfAddress: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "-._~!$&'()*+,;=:@/?".utf8.contains(self)
    }
  }

  fileprivate var isHexDigit: Bool { Character(UnicodeScalar(self)).isHexDigit && self < 0x80 }
}

/// Conversion of IP addresses to and from text.
package enum IPAddress {
  /// The 4 bytes of an IPv4 or 16 bytes of an IPv6 address in network order (inet_pton(3)); nil if the text is not an
  /// address.
  package static func bytes(_ text: String) -> [UInt8]? {
    for (family, size) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: size)
      if inet_pton(family, text, &bytes) == 1 { return bytes }
    }
    return nil
  }

  /// The text of an address of 4 or 16 bytes (inet_ntop(3)); empty for any other number of bytes.
  package static func text(_ bytes: [UInt8]) -> String {
    guard bytes.count == 4 || bytes.count == 16 else { return "" }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      let family = bytes.count == 4 ? AF_INET : AF_INET6
      guard let text = inet_ntop(family, bytes, buffer.baseAddress, socklen_t(buffer.count)) else { return "" }
      return String(cString: text)
    }
  }
}
