import Testing

@testable import RosterSync

/// A list whose calls a macro can hold.
private final class Came {
  private var pages = RepeatedPages()

  func callAsFunction(
    _ likeness: Int, keys: Range<Int>, isSkipping: Bool = false, isEmpty: Bool = false
  ) -> Bool {
    pages.came(.init(likeness: likeness, keys: keys.map(\.hashValue), isSkipping: isSkipping, isEmpty: isEmpty))
  }
}

@Suite struct RepeatedPagesTests {
  @Test("19: a list with more repeated pages than others has no end")
  func again() {
    let came = Came()
    #expect([1, 2, 1, 2].allSatisfy { !came($0, keys: $0..<$0 + 1) })
    #expect(came(1, keys: 1..<2))
  }

  @Test("19: a list has no end if over a hundred pages in a row, and most of all, have no new record")
  func stale() {
    let came = Came()
    for page in 0..<50 { #expect(!came(page, keys: page * 20..<page * 20 + 20)) }
    for page in 0..<RepeatedPages.maxStale { #expect(!came(100 + page, keys: page..<page + 20)) }
    #expect(came(500, keys: 0..<1))
  }

  @Test("19: a list goes on if a page has a new record now and then, or if `where` skips records")
  func new() {
    let came = Came()
    for page in 0..<400 { #expect(!came(page, keys: page % 99 == 0 ? page..<page + 1 : 0..<1)) }
    let passing = Came()
    for page in 0..<400 { #expect(!passing(page, keys: 0..<0, isSkipping: true)) }
  }

  @Test("19: empty pages are no repetitions, and have a limit of their own")
  func empty() {
    let came = Came()
    #expect(!came(1, keys: 1..<2))
    for _ in 0..<1000 { #expect(!came(0, keys: 0..<0, isEmpty: true)) }
    // They do not hide the repetitions among them.
    #expect(!came(1, keys: 1..<2))
    #expect(came(1, keys: 1..<2))
  }

  @Test("19: a list of a million new records is not reported as endless")
  func many() {
    let came = Came()
    #expect((0..<10_000).allSatisfy { !came($0, keys: $0 * 100..<$0 * 100 + 100) })
  }
}
