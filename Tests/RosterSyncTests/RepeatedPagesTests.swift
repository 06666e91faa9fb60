import Testing

@testable import RosterSync

/// A list whose calls a macro can hold.
private final class Came {
  private var pages = RepeatedPages()

  func callAsFunction(_ likeness: Int, _ keys: Range<Int>, isSkipping: Bool = false) -> Bool {
    pages.came(.init(likeness: likeness, keys: keys.map(\.hashValue), isSkipping: isSkipping))
  }
}

@Suite struct RepeatedPagesTests {
  @Test("P7: more pages that came again than others are a list without end")
  func again() {
    let came = Came()
    #expect([1, 2, 1, 2].allSatisfy { !came($0, $0..<$0 + 1) })
    #expect(came(1, 1..<2))
  }

  @Test("P7: over a hundred in a row that bring nothing new, and most of all, are one too")
  func stale() {
    let came = Came()
    for page in 0..<50 { #expect(!came(page, page * 20..<page * 20 + 20)) }
    for page in 0..<RepeatedPages.mostStale { #expect(!came(100 + page, page..<page + 20)) }
    #expect(came(500, 0..<1))
  }

  @Test("P7: what brings a new record now and then, or passes over some by `where`, goes on")
  func new() {
    let came = Came()
    for page in 0..<400 { #expect(!came(page, page % 99 == 0 ? page..<page + 1 : 0..<1)) }
    let passing = Came()
    for page in 0..<400 { #expect(!passing(page, 0..<0, isSkipping: true)) }
  }

  @Test("P7: a list of a million records is none, whatever of it is remembered")
  func many() {
    let came = Came()
    #expect((0..<10_000).allSatisfy { !came($0, $0 * 100..<$0 * 100 + 100) })
  }
}
