import FoundationEssentials
import RosterModel
import Testing

@testable import RosterCache

struct PublicationTests {
  let folder: Folder
  init() throws { folder = try Folder() }

  /// The numbers of the file's pages that differ, from 1.
  private func changedPages(_ before: Data, _ after: Data) -> Set<Int> {
    let size = 4096
    let pages = max(before.count, after.count) / size
    func page(_ data: Data, _ number: Int) -> Data { data.dropFirst((number - 1) * size).prefix(size) }
    return Set((1...pages).filter { page(before, $0) != page(after, $0) })
  }

  /// Writes the log back and reads the file.
  private func settledFile() throws -> Data {
    let database = try Database(path: folder.cache, access: .writer)
    try database.keepLog()
    // Before its first look at the file a connection does not know of the log.
    try database.run("SELECT * FROM cache_info")
    #expect(try database.checkpoint(.truncate))
    return try folder.bytes()
  }

  @Test("P5: a sync that finds nothing new writes its row in syncs and nothing else")
  func unchanged() async throws {
    let cache = try await folder.open()
    let reject = Reject(position: 2, id: nil, reason: "r", document: "{}")
    var pages = paged((1...200).map { character($0) })
    pages[3] = staged(4, pages[3].page.characters, of: 201, pages: 100, rejects: [reject])
    #expect(try await cache.sync(pages).outcome == .published)
    let before = try settledFile()
    let report = try await cache.sync(pages, removing: .nobody)
    #expect(report.outcome == .unchanged && report.rejected == 1 && report.characters == 200)
    let after = try settledFile()
    let allowed = try folder.ask("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'syncs'").compactMap(Int.init)
    #expect(allowed.count == 2)
    // Page 1 holds the file's change counter.
    #expect(changedPages(before, after).isSubset(of: Set(allowed + [1])))
    #expect(!changedPages(before, after).isEmpty)
    let facts = try await cache.facts()
    #expect(facts.snapshot == 1 && facts.last?.id == 2 && facts.pages == 100)
    await cache.close()
  }

  @Test("P6: a sync in which every page was kept has nothing to publish")
  func kept() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    let report = try await cache.begin(at: noon)
    let found = try await cache.compare(pages: 2)
    #expect(found.isComplete && found.distinct == 4 && found.missing == 0)
    let written = try await cache.publish(report, pages: 2, removing: .missing, at: noon, history: ninetyDays)
    #expect(written.outcome == .unchanged && written.characters == 4)
    await cache.close()
  }

  @Test("P5: of kept and transferred pages together, only what changed is written")
  func mixed() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...6).map { character($0) }))
    let report = try await cache.begin(at: noon)
    try await cache.stage([
      staged(2, [character(3), character(4, "!", episodes: ["e/1", "e/2", "e/3"])], of: 7, pages: 4),
      staged(4, [character(7)], of: 7, pages: 4),
    ])
    #expect(try await cache.compare(pages: 4).distinct == 7)
    let written = try await cache.publish(report, pages: 4, removing: .missing, at: noon, history: ninetyDays)
    #expect([written.added, written.changed, written.removed, written.characters] == [1, 1, 0, 7])
    #expect(try folder.ask("SELECT id FROM characters WHERE changed_sync = 2") == ["4", "7"])
    #expect(try folder.ask("SELECT id FROM characters WHERE first_sync = 2") == ["7"])
    #expect(try folder.ask("SELECT url FROM character_episodes WHERE character_id = 4") == ["e/1", "e/2", "e/3"])
    #expect(try await cache.held(pages: 1...9).filter(\.isPublished).count == 4)
    await cache.close()
    #expect(try folder.isSound())
  }

  @Test("5: the first snapshot writes no changes; later ones tell before and after as JSON")
  func changes() async throws {
    let cache = try await folder.open()
    var first = (1...3).map { character($0) }
    first[1].extra = #"{"origin":{"moons":1.50e2},"rank":7}"#
    _ = try await cache.sync(paged(first))
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    var second = first
    second[0].episodes = ["e/2"]
    second[1].extra = nil
    second[2] = character(4)
    let later = noon.addingTimeInterval(60)
    let report = try await cache.sync(paged(second), at: later)
    #expect([report.added, report.changed, report.removed] == [1, 2, 1])
    #expect(
      try folder.ask("SELECT character_id || kind FROM changes ORDER BY id") == [
        "1changed", "2changed", "3removed", "4added",
      ])
    #expect(try folder.ask("SELECT DISTINCT at FROM changes") == [later.rfc3339])
    #expect(try folder.ask("SELECT after ->> '$.episodes' FROM changes WHERE character_id = 1") == [#"["e/2"]"#])
    #expect(
      try folder.ask("SELECT before FROM changes WHERE character_id = 2") == [
        #"{"id":2,"name":"Name 2","status":"Alive","species":"Human","type":"","gender":"unknown","#
          + #""origin_name":"Earth (C-137)","origin_url":"o","location_name":"Citadel","location_url":"l","#
          + #""image":"i/2","url":"u/2","created":"2017-11-04T18:48:46.250Z","#
          + #""extra":{"origin":{"moons":1.50e2},"rank":7},"episodes":["e/1","e/2"]}"#
      ])
    #expect(try folder.ask("SELECT json_type(after, '$.extra') FROM changes WHERE character_id = 2") == ["null"])
    #expect(
      try folder.ask(
        "SELECT count(*) FROM changes WHERE (before IS NULL) = (kind = 'added') AND (after IS NULL) = (kind = 'removed')"
      ) == ["4"])
    await cache.close()
    #expect(try folder.isSound())
  }

  @Test("P8: without removal, who is on no page stays")
  func nobodyRemoved() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    let report = try await cache.sync(paged([character(1)]), removing: .nobody)
    #expect(report.outcome == .unchanged && report.removed == 0 && report.characters == 4)
    await cache.close()
  }

  @Test("P9: equal rejects keep their row, others come and go, and the last good version stays")
  func rejects() async throws {
    let cache = try await folder.open()
    func page(_ rejects: [Reject]) -> [PulledPage] {
      [staged(1, [character(1)], of: 1 + rejects.count, pages: 1, rejects: rejects)]
    }
    _ = try await cache.sync([staged(1, [character(1), character(2)], of: 2, pages: 1)])
    let kept = Reject(position: 1, id: 2, reason: "name is a number", document: #"{"id":2,"name":1}"#)
    let report = try await cache.sync(page([kept, Reject(position: 2, id: nil, reason: "no id", document: "{}")]))
    #expect(report.rejected == 2 && report.removed == 0 && report.outcome == .published)
    #expect(try folder.ask("SELECT name FROM characters WHERE id = 2") == ["Name 2"])
    _ = try await cache.sync(page([kept, Reject(position: 2, id: nil, reason: "no id!", document: "{}")]))
    #expect(
      try folder.ask("SELECT sync_id || ' ' || page || ' ' || reason FROM rejects ORDER BY position") == [
        "2 1 name is a number", "3 1 no id!",
      ])
    _ = try await cache.sync([staged(1, [character(1), character(2)], of: 2, pages: 1)])
    #expect(try folder.ask("SELECT count(*) FROM rejects") == ["0"])
    await cache.close()
  }

  @Test("5: the snapshot of another upstream is a new one, even where the rows are the same")
  func otherUpstream() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged([character(1)]))
    await cache.close()
    let other = try await folder.open(upstream: "http://other")
    #expect(try await other.sync(paged([character(1)])).outcome == .published)
    #expect(try await other.facts().upstream == "http://other")
    await other.close()
  }

  @Test("P10: whatever text upstream sends is stored as it is, and no change is seen in it")
  func texts() async throws {
    let cache = try await folder.open()
    var odd = character(1, "é\u{301} \"'\\ \u{0} 👽\n", episodes: ["", "\"\\\u{1}\u{1f}\u{7f}", "👽"])
    odd.extra = String(repeating: "[", count: 3_000) + String(repeating: "]", count: 3_000)
    _ = try await cache.sync(paged([odd]))
    #expect(try await cache.sync(paged([odd])).outcome == .unchanged)
    odd.status = "Dead"
    #expect(try await cache.sync(paged([odd])).changed == 1)
    let found = try CacheReader(path: folder.cache).character(id: 1)
    #expect(found?.character.character == odd)
    await cache.close()
    #expect(try folder.isSound())
  }
}
