extension String {
  /// A URL as it may be shown: without what its query says, which may hold a key (T9).
  package var queryMasked: String {
    guard let mark = firstIndex(of: "?") else { return self }
    return "\(self[...mark])***"
  }
}
