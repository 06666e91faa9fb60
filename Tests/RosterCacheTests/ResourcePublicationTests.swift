import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

struct ResourcePublicationTests {
  let folder = Folder()

  @Test("9: first_sync and changed_sync are those of added and changed records; all other rows stay unchanged")
  func syncsOfRecords() async throws {
    let cache = try await folder.mirrored(paired(people(1...6)))
    let changed = person(4, mark: "!", episodes: ["e/1", "e/2", "e/3"])
    let report = try await cache.mirror([nil, [person(3), changed], nil, [person(7)]])
    #expect([report.added, report.changed, report.removed, report.records] == [1, 1, 0, 7])
    #expect(try folder.ask("SELECT id FROM characters WHERE changed_sync = 2") == ["4", "7"])
    #expect(try folder.ask("SELECT id FROM characters WHERE first_sync = 2") == ["7"])
    #expect(try folder.ask("SELECT url FROM character_episodes WHERE character_id = 4") == ["e/1", "e/2", "e/3"])
    #expect(try folder.ask("SELECT rowid FROM characters_fts WHERE characters_fts MATCH 'name'").count == 7)
    try await folder.expectSound(closing: cache)
  }

  @Test("13: if no record may be removed, missing records stay, and nothing is published for that")
  func nobodyRemoved() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    let report = try await cache.mirror([[person(1)]], removal: .keepsAll)
    #expect(report.outcome == .unchanged && report.removed == 0 && report.records == 4)
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["4"])
    try await folder.expectSound(closing: cache)
  }

  /// Moves the numbers of pages and keeps their addresses, as with a style whose pages name the next one.
  private func move(_ cache: Cache, to numbers: [Int: Int]) async throws {
    let record = try await cache.begin(at: noon)
    let known = try await cache.known("character", addresses: numbers.keys.map(address))
    try await cache.append([Pull(cache: cache).received(.character, 1, [person(9)], address: "/new")])
    try await cache.confirm(
      "character",
      pages: try numbers.map { ConfirmedPage(number: $0.value, page: try #require(known[address($0.key)])) })
    _ = try await cache.compare()
    #expect(
      try await cache.publish(
        record, decisions: ["character": RemovalDecision(.keepsAll)], at: noon, history: ninetyDays
      )
      .added == 1
    )
  }

  private func rejects() throws -> [String] {
    try folder.ask("SELECT sync_id || ' ' || page || ' ' || position || ' ' || document FROM rejects ORDER BY page")
  }

  @Test("5: rejects of an unchanged page follow it to its new place in the list")
  func movedRejects() async throws {
    let cache = try await folder.mirrored([[person(1), "{}"], [person(2), "7"]])
    #expect(try rejects() == ["1 1 1 {}", "1 2 1 7"])
    try await move(cache, to: [1: 2, 2: 3])
    #expect(try rejects() == ["1 2 1 {}", "1 3 1 7"])
    try await folder.expectSound(closing: cache)
  }

  @Test("5: rejects of a removed page are removed, also if another page takes its place in the list")
  func replacedRejects() async throws {
    let cache = try await folder.mirrored([[person(1), "{}"], [person(2), person(3), "7"]])
    try await move(cache, to: [1: 2])
    #expect(try rejects() == ["1 2 1 {}"])
    try await folder.expectSound(closing: cache)
  }

  @Test("5, 9: if only the place of rejects in the list changed, a new snapshot is published")
  func onlyRejectsMove() async throws {
    let cache = try await folder.mirrored([["7"], [person(1), "{}"]], removal: .keepsAll)
    let record = try await cache.begin(at: noon)
    let known = try await cache.known("character", addresses: [address(2)])
    try await cache.confirm("character", pages: [ConfirmedPage(number: 1, page: try #require(known[address(2)]))])
    _ = try await cache.compare()
    let written = try await cache.publish(record, decisions: ["character": RemovalDecision(.keepsAll)])
    #expect(written.outcome == .published && written.rejected == 1 && written.records == 1)
    #expect(try rejects() == ["1 1 1 {}"])
    try await folder.expectSound(closing: cache)
  }
}
