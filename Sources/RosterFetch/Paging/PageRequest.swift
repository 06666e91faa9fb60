package import RosterModel

/// The request for one page, and the page's place in the list.
package struct PageRequest: Sendable, Equatable {
  /// Position in the order of the list, from 1: not the number that is sent.
  package var number: Int
  /// Number of records on the pages before it, if the pages follow one another. Only the style `offset` and lists
  /// with `count` use it.
  package var recordsBefore: Int
  /// The request without validators and tokens.
  package var request: Request
  /// Identifies the page from pull to pull (P6): its address below base_url, and its body for a POST.
  package var address: String

  /// Hash of the bytes of the address. Two spellings of one letter are two addresses, but `String` takes them for one.
  package var addressHash: Int {
    var (hasher, address) = (Hasher(), address)
    address.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    return hasher.finalize()
  }
}
