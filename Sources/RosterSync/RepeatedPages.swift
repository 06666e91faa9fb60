/// Knows a list without end: upstream that does not know the parameter that pages are asked for with, or that gives a
/// fresh cursor to the same page, answers again what it has answered. Pure.
///
/// A page that is there twice proves nothing, since records move while they are pulled (P7): it takes more pages that
/// came again than others.
struct RepeatedPages: Sendable {
  /// Eight bytes a page, since nothing else of a pull grows with its pages.
  private var met: Set<Int> = []
  private var pages = 0
  private var again = 0

  /// - Parameter likeness: equal for pages of the same records; nil: the page was not transferred.
  /// - Returns: Whether the list has no end.
  mutating func came(_ likeness: Int?) -> Bool {
    pages += 1
    if let likeness, !met.insert(likeness).inserted { again += 1 }
    return 2 * again > pages
  }
}
