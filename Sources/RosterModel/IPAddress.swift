import Glibc

/// Addresses as texts.
package enum IPAddress {
  /// Of IPv4 four, of IPv6 sixteen, in the order of the network (inet_pton(3)); nil: the text is no address.
  package static func bytes(_ text: String) -> [UInt8]? {
    for (family, size) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: size)
      if inet_pton(family, text, &bytes) == 1 { return bytes }
    }
    return nil
  }
}
