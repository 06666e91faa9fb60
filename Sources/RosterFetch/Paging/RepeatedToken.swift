import RosterModel

/// Removes the token from addresses in which upstream repeats it, because next-page addresses are stored and shown (T8,
/// T9).
extension Response.SentToken {
  /// Minimum length in bytes. A shorter token may be in an address by chance, such as a static token `10` beside
  /// `page=10`.
  private static let minBytes = 8

  /// The address without parameters that contain the token, whatever upstream calls them, and without such a fragment.
  /// Each request has the token in the place of `auth.send`.
  func removed(from address: String) -> String {
    var address = parameter.map { QueryText.removing($0, from: address) } ?? address
    guard isRepeated(in: address) else { return address }
    if let mark = address.utf8.firstIndex(of: UInt8(ascii: "#")), isRepeated(in: String(address[mark...])) {
      address = String(address[..<mark])
    }
    return QueryText.removing(from: address) { isRepeated(in: String($0)) }
  }

  /// True if the text contains the token, unchanged or percent-encoded.
  func isRepeated(in text: String) -> Bool {
    guard self.text.utf8.count >= Self.minBytes else { return false }
    let token = Array(self.text.utf8)
    return Array(text.utf8).contains(token) || text.utf8.percentDecoded(isForm: true).contains(token)
  }
}
