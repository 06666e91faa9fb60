import FoundationEssentials
import RosterModel
import Testing

@testable import RosterCache

struct CompareTests {
  let folder: Folder
  init() throws { folder = try Folder() }

  @Test("P7: an id on two pages counts once, staged or kept; a page that is not there is told")
  func duplicates() async throws {
    let cache = try await folder.open()
    try await cache.stage([
      staged(1, [character(1), character(2)], of: 4, pages: 2),
      staged(2, [character(2), character(3)], of: 4, pages: 2),
    ])
    var found = try await cache.compare(pages: 2)
    #expect(found.distinct == 3 && found.isComplete)
    #expect(try await cache.compare(pages: 3).isComplete == false)
    try await cache.stage([staged(2, [character(3), character(4)], of: 4, pages: 2)])
    found = try await cache.compare(pages: 2)
    #expect(found.distinct == 4)
    await cache.close()
  }

  @Test("P7: an id that moved from a page that changed to one that was kept is counted once")
  func movedToKept() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    // Page 1 was kept; page 2 now brings 1 once more, and 3 and 4 are lost.
    try await cache.stage([staged(2, [character(1), character(5)], of: 4, pages: 2)])
    let found = try await cache.compare(pages: 2)
    #expect(found.distinct == 3)
    #expect(found.missing == 2)
    #expect(try await cache.missing(after: 0, limit: 9) == [3, 4])
    #expect(try await cache.missing(after: 3, limit: 9) == [4])
    await cache.close()
  }

  @Test("P7: pages beyond the last are not part of the pull")
  func beyond() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...6).map { character($0) }))
    try await cache.stage([staged(4, [character(9)], of: 7, pages: 4)])
    let found = try await cache.compare(pages: 2)
    #expect(found.distinct == 4 && found.missing == 2)
    let report = try await cache.begin(at: noon)
    let written = try await cache.publish(report, pages: 2, removing: .missing, at: noon, history: ninetyDays)
    #expect(written.removed == 2 && written.added == 0 && written.characters == 4)
    #expect(try await cache.held(pages: 1...9).map(\.number) == [1, 2])
    await cache.close()
  }

  @Test("P9: a rejected record is not missing where its id is known, and counted where it is not")
  func rejects() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    let rejects = [
      Reject(position: 0, id: 1, reason: "r", document: "{}"),
      Reject(position: 1, id: nil, reason: "r", document: "{}"),
    ]
    try await cache.stage([staged(1, [], of: 4, pages: 2, rejects: rejects)])
    let found = try await cache.compare(pages: 2)
    #expect(found.rejected == 2 && found.rejectedUnknown == 1)
    #expect(found.distinct == 2 && found.missing == 1)
    #expect(try await cache.missing(after: 0, limit: 9) == [2])
    await cache.close()
  }

  @Test("P9: rejects of a page that is not part of the pull are forgotten with it")
  func rejectsBeyond() async throws {
    let cache = try await folder.open()
    let reject = Reject(position: 0, id: 7, reason: "r", document: "{}")
    try await cache.stage([staged(2, [], of: 2, pages: 2, rejects: [reject])])
    try await cache.stage([staged(1, [character(1)], of: 1, pages: 1)])
    #expect(try await cache.compare(pages: 1).rejected == 0)
    try await cache.stage([staged(2, [character(2)], of: 2, pages: 2)])
    let report = try await cache.begin(at: noon)
    let written = try await cache.publish(
      report, pages: 2, removing: .missing, at: noon, history: ninetyDays)
    #expect(written.rejected == 0 && written.characters == 2)
    await cache.close()
  }

  @Test(
    "P8: what upstream still has stays and is updated, what it has not is removed, and the answer holds for one sync")
  func keep() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    let report = try await cache.begin(at: noon)
    let fewer = [character(1), character(2)]
    try await cache.stage(paged(fewer))
    #expect(try await cache.compare(pages: 1).missing == 2)
    try await cache.keep([character(3, " again")])
    #expect(try await cache.missing(after: 0, limit: 9) == [4])
    let written = try await cache.publish(report, pages: 1, removing: .missing, at: noon, history: ninetyDays)
    #expect(written.removed == 1 && written.changed == 1 && written.characters == 3)
    #expect(try folder.ask("SELECT name FROM characters ORDER BY id") == ["Name 1", "Name 2", "Name 3 again"])
    // It is on no page, so it is missing again, also where nothing is transferred.
    _ = try await cache.begin(at: noon)
    let next = try await cache.compare(pages: 1)
    #expect(next.distinct == 2 && next.missing == 1 && next.snapshot == 3)
    await cache.close()
  }

  @Test("P8: an answer that a broken-off sync got does not count in the next one")
  func staleAnswer() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    let report = try await cache.begin(at: noon)
    try await cache.stage(paged([character(1), character(2)]))
    _ = try await cache.compare(pages: 1)
    try await cache.keep([character(3)], rejects: [Reject(position: 0, id: 4, reason: "r", document: "{}")])
    #expect(try await cache.missing(after: 0, limit: 9).isEmpty)
    try await cache.end(report, at: noon, history: ninetyDays)
    _ = try await cache.begin(at: noon)
    #expect(try await cache.compare(pages: 1).missing == 2)
    await cache.close()
  }
}
