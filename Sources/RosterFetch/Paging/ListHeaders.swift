import RosterCore

/// Headers that speak about the list of an answer, although no key of the definition names them.
extension Response {
  /// True if a Link header leads to a next page.
  var hasNextLink: Bool { (try? LinkHeader.next(in: headers)) != nil }

  /// True if a header says that another page follows the one with this number.
  func leadsOn(after page: Int) -> Bool { hasNextLink || leadsToNextPage(after: page) }

  /// The same for headers other than Link.
  func leadsToNextPage(after page: Int) -> Bool {
    headers.contains { header in
      let value = header.value.lowercased()
      return switch HeaderWords(header.name).last(2) {
      case ["next", "page"], ["next", "cursor"], ["next", "token"]: !["", "null", "none", "false", "0"].contains(value)
      case ["has", "more"], ["has", "next"]: value == "true" || value == "1"
      case ["next", "range"]: !value.isEmpty
      case let words where words.last == "continuation": !value.isEmpty
      case ["total", "pages"], ["page", "count"], ["wp", "totalpages"]:
        Int(value).map { $0 > page } ?? false
      case _: false
      }
    }
  }

  /// The highest total of the list that a header names: `X-Total-Count: 45` or `Content-Range: items 0-19/45`.
  var total: Int64? {
    headers.compactMap { header -> Int64? in
      if header.isNamed("Content-Range") {
        if header.value.hasPrefix("bytes") { return nil }
        return header.value.split(separator: "/", omittingEmptySubsequences: false).last.flatMap { Int64($0) }
      }
      return switch HeaderWords(header.name).last(2) {
      case ["total", "count"], ["x", "total"], ["wp", "total"], ["pagination", "count"], ["total", "results"],
        ["total", "records"], ["total", "items"]:
        Int64(header.value)
      case _: nil
      }
    }.max()
  }
}

extension String {
  /// The address without a user and a password, which a server may repeat from the request. Both are sent in a header.
  var withoutUserInfo: String {
    guard let start = firstRange(of: "://")?.upperBound else { return self }
    let end = self[start...].firstIndex { "/?#".contains($0) } ?? endIndex
    guard let at = self[start..<end].lastIndex(of: "@") else { return self }
    return String(self[..<start]) + self[index(after: at)...]
  }
}
