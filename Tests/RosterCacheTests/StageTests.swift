import FoundationEssentials
import RosterModel
import Testing

@testable import RosterCache

struct StageTests {
  let folder: Folder
  init() throws { folder = try Folder() }

  @Test("P4: what a broken-off sync had received is there after a restart, with validator, count and time")
  func survives() async throws {
    let cache = try await folder.open()
    let report = try await cache.begin(at: noon)
    try await cache.stage(Array(paged((1...6).map { character($0) }).prefix(2)))
    try await cache.end(report, at: noon, history: ninetyDays)
    await cache.close()
    let next = try await folder.open()
    let known = try await next.held(pages: 1...9)
    #expect(known.map(\.number) == [1, 2])
    #expect(
      known.first
        == HeldPage(
          number: 1, validator: Validator(etag: "\"1\""), isPublished: false, count: 6, pages: 3,
          characters: 2, receivedAt: noon))
    // The rest is pulled, and all of it is published.
    let again = try await next.begin(at: noon)
    try await next.stage(Array(paged((1...6).map { character($0) }).suffix(1)))
    let published = try await next.publish(again, pages: 3, removing: .missing, at: noon, history: ninetyDays)
    #expect(published.added == 6)
    await next.close()
  }

  /// What of a backup is put back, and how.
  enum Restore: CaseIterable { case beside, alone, together, overBeside, overAlone }

  @Test(
    "5: a cache that was put back has another feed: ids of changes that were followed are not given out again",
    arguments: Restore.allCases)
  func putBack(how: Restore) async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    await cache.close()
    let backup = (cache: try folder.bytes(), staging: try folder.bytes("roster.staging.db"))
    let feed = try folder.ask("SELECT feed FROM cache_info")
    let second = try await folder.open()
    _ = try await second.sync(paged((1...4).map { character($0, "!") }))
    await second.close()
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)

    let isOver = [.overBeside, .overAlone].contains(how)
    if !isOver { try CacheFile.remove(folder.cache) }
    try folder.write(backup.cache)
    if ![.beside, .overBeside].contains(how) { try CacheFile.remove(folder.staging) }
    if how == .together { try folder.write(backup.staging, to: "roster.staging.db") }
    let third = try await folder.open()
    #expect(try folder.ask("SELECT name FROM characters WHERE id = 1") == ["Name 1"])
    let next = try folder.ask("SELECT feed FROM cache_info")
    #expect(next != feed)
    // What was pulled together with it is as good as it was.
    #expect(try await third.held(pages: 1...9).count == (how == .together ? 2 : 0))
    await third.close()
    let fourth = try await folder.open()
    #expect(try folder.ask("SELECT feed FROM cache_info") == next)
    await fourth.close()
  }

  @Test("5: the feed outlives stops, kills and another upstream; who read before the first snapshot finds another one")
  func feed() async throws {
    let cache = try await folder.open()
    let empty = try folder.ask("SELECT feed FROM cache_info")
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    let feed = try folder.ask("SELECT feed FROM cache_info")
    #expect(feed != empty)
    // As after a kill: nobody has closed it.
    let second = try await folder.open(upstream: "http://other")
    _ = try await second.sync(paged((1...4).map { character($0, "!") }))
    await second.close()
    let third = try await folder.open()
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    // In a running rosterd, which knows its cache.
    try CacheFile.remove(folder.staging)
    _ = try await third.sync(paged((1...4).map { character($0, "?") }))
    await third.close()
    await cache.close()
    let fourth = try await folder.open()
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    await fourth.close()
  }

  @Test("P6: discarded pages take their validators along; published ones keep theirs unless asked")
  func discard() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    try await cache.stage([staged(2, [character(3, "!")], of: 3, pages: 2, etag: "\"new\"")])
    try await cache.discard()
    #expect(try await cache.held(pages: 1...9).map(\.number) == [1])
    try await cache.discard(validators: true)
    #expect(try await cache.held(pages: 1...9).isEmpty)
    #expect(try folder.ask("SELECT name FROM characters WHERE id = 3") == ["Name 3"])
    await cache.close()
  }

  @Test("P6: staging of another upstream, feed or snapshot is dropped", arguments: ["upstream", "feed", "snapshot"])
  func mismatch(what: String) async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...4).map { character($0) }))
    await cache.close()
    let database = try Database(path: folder.cache, access: .writer)
    switch what {
    case "feed": try database.execute("UPDATE cache_identity SET feed = 'other'")
    case "snapshot": try database.execute("UPDATE syncs SET finished_at = 'other' WHERE outcome = 'published'")
    default: break
    }
    database.close()
    let next = try await folder.open(upstream: what == "upstream" ? "http://other" : upstream)
    #expect(try await next.held(pages: 1...9).isEmpty)
    await next.close()
  }

  @Test("P4: a crash between the two commits of a publish loses nothing and publishes nothing twice")
  func crashAfterCommit() async throws {
    let cache = try await folder.open()
    let report = try await cache.begin(at: noon)
    try await cache.stage(paged((1...4).map { character($0) }))
    try await cache.commitAlone(report, pages: 2)
    #expect(try await cache.held(pages: 1...9).allSatisfy { !$0.isPublished })
    await cache.close()
    let next = try await folder.open()
    let known = try await next.held(pages: 1...9)
    #expect(known.count == 2 && known.allSatisfy(\.isPublished))
    let again = try await next.begin(at: noon)
    let written = try await next.publish(again, pages: 2, removing: .missing, at: noon, history: ninetyDays)
    #expect(written.outcome == .unchanged && written.characters == 4)
    await next.close()
  }

  @Test("P4: a crash before the COMMIT of a publish leaves the pages staged")
  func crashBeforeCommit() async throws {
    let cache = try await folder.open()
    let report = try await cache.begin(at: noon)
    try await cache.stage(paged((1...4).map { character($0) }))
    try await cache.perform("test") {
      try $0.execute("UPDATE staging.info SET pending = \(report.id), pending_pages = 2")
    }
    await cache.close()
    let next = try await folder.open()
    let known = try await next.held(pages: 1...9)
    #expect(known.count == 2 && known.allSatisfy { !$0.isPublished })
    await next.close()
  }

  @Test(
    "Lists are written as SQLite writes them", arguments: ["", "a\"b\\c", "\u{1}\u{8}\t\n\u{c}\r\u{1f}\u{7f}", "é/👽"])
  func list(text: String) async throws {
    let cache = try await folder.open()
    var list: [UInt8] = []
    JSONList.write([text, text], to: &list)
    let theirs = try await cache.perform("test") {
      try $0.first("SELECT json_array(?1, ?1)", .text(text)) { $0.text(0) }
    }
    #expect(String(decoding: list, as: UTF8.self) == theirs)
    await cache.close()
  }
}
