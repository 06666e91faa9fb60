import Glibc

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
