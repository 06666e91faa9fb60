package import RosterCore

/// The request for one page, and the page's place in the list.
package struct PageRequest: Sendable, Equatable {
  /// Position in the order of the list, from 1: not the number that is sent.
  package var number: Int
  /// Number of records on the pages before it, if the pages follow one another. By offset it is the number of
  /// positions, which empty pages take too. Only the style `offset` and lists with `count` use it.
  package var recordsBefore: Int
  /// Number of records on the longest page before it; 0 for the first page.
  package var longest = 0
  /// The total that the pages before it report; nil without one.
  package var total: Int?
  /// The number of pages that the pages before it report; nil without one.
  package var last: Int?
  /// Number of empty pages directly before it.
  package var emptyPages = 0
  /// True if a sign says that the list is over, so that any answer without new records is the end.
  package var isTrial = false
  /// True if the page before it seems to end the list. It is requested only if the cache has records on it.
  package var isAhead = false
  /// True if an answer says that this page exists.
  package var isPromised = false
  /// True if an earlier page of this pull had the same request: only upstream knows the position.
  package private(set) var isRepeated = false
  /// The request without validators and tokens.
  package var request: Request
  /// Identifies the page from pull to pull: its address below base_url, and its body for a POST.
  package var address: String

  /// The same request once more, which leads to other records. Its place tells the pages apart.
  package func repeated() -> PageRequest {
    var page = self
    page.isRepeated = true
    page.address += "\n#\(number)"
    return page
  }

  /// Hash of the bytes of the address. Two spellings of one letter are two addresses, but `String` takes them for one.
  package var addressHash: Int {
    var (hasher, address) = (Hasher(), address)
    address.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    return hasher.finalize()
  }
}

/// Removes the token and other secrets from addresses in which upstream repeats them, because next-page addresses are
/// stored and shown.
extension Response.SentToken {
  /// Minimum length in bytes. A shorter token may be in an address by chance, such as a static token `10` beside
  /// `page=10`.
  private static let minBytes = 8

  /// The address without parameters that contain the token, whatever upstream calls them, and without such a fragment.
  /// Each request has the token in the place of `auth.send`.
  func removed(from address: String) -> String {
    var address = parameters.reduce(address) { QueryText.removing($1, from: $0) }
    guard isRepeated(in: address) else { return address }
    if let mark = address.utf8.firstIndex(of: UInt8(ascii: "#")), isRepeated(in: String(address[mark...])) {
      address = String(address[..<mark])
    }
    return QueryText.removing(from: address) { isRepeated(in: String($0)) }
  }

  /// True if the text contains the token, unchanged or percent-encoded.
  func isRepeated(in text: String) -> Bool {
    texts.contains { secret in
      guard secret.utf8.count >= Self.minBytes else { return false }
      let token = Array(secret.utf8)
      return Array(text.utf8).contains(token) || text.utf8.percentDecoded(isForm: true).contains(token)
    }
  }
}
