import RosterCore

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
