/// Identity of a page's records within a pull. Without both parts, it equals no other page.
struct PageContent: Sendable {
  /// nil if the page was not transferred, or is compared with no other page.
  var records: RepeatedPages.Page?
  /// Digest of the body.
  var digest: Int64?

  /// True if both pages have the same records in the same order.
  func isAlike(_ other: PageContent) -> Bool {
    if let records, let others = other.records { return !records.isEmpty && records.likeness == others.likeness }
    return digest != nil && digest == other.digest
  }
}

/// The first and the last page of a list with a total. An upstream without a page after its total may answer with one
/// of them again.
struct PageEdges: Sendable {
  private var pages: [PageContent] = []

  /// The records of the first page; nil if it was not transferred.
  var first: RepeatedPages.Page? { pages.first?.records }

  func isFirst(_ page: PageContent) -> Bool { pages.first?.isAlike(page) == true }

  /// Notes the first page, or the last one so far.
  mutating func note(_ page: PageContent, isLast: Bool) {
    pages = isLast ? pages.prefix(1) + [page] : [page]
  }

  /// True if the page has no record that these pages lack.
  func contain(_ page: PageContent) -> Bool {
    if pages.contains(where: { $0.isAlike(page) }) { return true }
    guard let keys = page.records?.keys, !keys.isEmpty, page.records?.isSkipping == false else { return false }
    let known = Set(pages.flatMap { $0.records?.keys ?? [] })
    return keys.allSatisfy(known.contains)
  }
}
