import RosterModel

/// What upstream repeats of the token where it says how a list goes on: that is kept, and shown (T8, T9).
extension Response.SentToken {
  /// Shorter ones may be in an address by chance, such as a static token `10` beside `page=10`.
  private static let leastBytes = 8

  /// The address without the parameters that hold it, whatever upstream calls them, and without a fragment that does:
  /// each request has the token where `auth.send` says.
  func removed(from address: String) -> String {
    var address = parameter.map { QueryText.removing($0, from: address) } ?? address
    guard isRepeated(in: address) else { return address }
    if let mark = address.utf8.firstIndex(of: UInt8(ascii: "#")), isRepeated(in: String(address[mark...])) {
      address = String(address[..<mark])
    }
    return QueryText.removing(from: address) { isRepeated(in: String($0)) }
  }

  /// As it is, or percent-encoded.
  func isRepeated(in text: String) -> Bool {
    guard self.text.utf8.count >= Self.leastBytes else { return false }
    let token = Array(self.text.utf8)
    return Array(text.utf8).contains(token) || QueryText.decoded(text[...]).contains(token)
  }
}
