import FoundationEssentials
import Glibc
import RosterCore
import Testing

@testable import RosterCache

struct CacheTests {
  let folder = Folder()

  @Test("SQLite does not count its memory, because each allocation would take a lock")
  func memoryTotals() async throws {
    let cache = try await folder.define()
    #expect(Database.savesCounting)
    await cache.close()
  }

  @Test("7: a new cache has application_id, user_version and a feed, and no snapshot")
  func new() async throws {
    let cache = try await folder.define()
    let facts = try await cache.facts()
    #expect(facts.snapshot == nil && facts.verifiedAt == nil && facts.records == 0 && facts.last == nil)
    #expect(facts.feed.count == 32 + "-empty".count)
    #expect(try folder.ask("PRAGMA application_id") == ["\(0x524F_5354)"])
    #expect(try folder.ask("PRAGMA user_version") == ["5"])
    #expect(try folder.ask("PRAGMA journal_mode") == ["wal"])
    #expect(try folder.ask("SELECT count(*) FROM cache_info") == ["1"])
    await cache.close()
  }

  @Test("2: a sync that was running when its process died is interrupted at the next start")
  func interrupted() async throws {
    let cache = try await folder.define()
    let report = try await cache.begin(at: noon)
    await cache.close()
    let next = try await folder.define()
    let found = try #require(try await next.facts().last)
    #expect(found.id == report.id && found.outcome == .interrupted && found.exit == nil)
    #expect(try await next.begin(at: noon).id == report.id + 1)
    await next.close()
  }

  @Test("43: damage in a running daemon is moved aside, and the sync goes on in a new cache")
  func damageWhileRunning() async throws {
    let cache = try await folder.mirrored(paired(people(1...2_000)))
    #expect(try await cache.check())
    let feed = try await cache.facts().feed
    await cache.close()
    var bytes = try folder.bytes()
    // The damage is after the part that opening reads.
    let half = bytes.count / 2
    bytes.replaceSubrange(half..., with: [UInt8](repeating: 0x5A, count: bytes.count - half))
    try folder.write(bytes)
    let again = try await folder.define()
    #expect(await again.opened.movedAside == nil)
    #expect(try await again.check() == false)
    let aside = try #require(try await again.recover(at: noon))
    #expect(fileStatus(aside) != nil)
    #expect(try await again.facts().feed != feed)
    _ = try await again.begin(at: noon)
    #expect(try await again.known("character", addresses: (1...200).map(address)).isEmpty)
    #expect(try await again.mirror([[person(1)]]).outcome == .published)
    #expect(try await again.recover(at: noon) == nil)
    try await folder.expectSound(closing: again)
  }

  @Test("2: pulled pages that cannot be read are dropped, and the cache stays")
  func damagedPulledPages() async throws {
    await (try folder.mirrored([[person(1)]])).close()
    try folder.write([UInt8](repeating: 0x5A, count: 9_000), to: "roster.db.next")
    let again = try await folder.define()
    #expect(await again.opened.movedAside == nil)
    #expect(try await again.facts().records == 1)
    #expect(try await again.mirror([[person(1)]]).outcome == .unchanged)
    await again.close()
  }

  @Test("43: an unclean stop is distinguished from a clean one")
  func unclean() async throws {
    let first = try await folder.mirrored([[person(1)]])
    _ = try await first.begin(at: noon)
    let second = try await folder.define()
    #expect(await second.opened.wasUnclean)
    await second.close()
    await first.close()
    let third = try await folder.define()
    #expect(await third.opened.wasUnclean == false)
    #expect(await third.needsCheck == false)
    await third.close()
  }

  @Test("43: a stop without the release of the lock is unclean despite an empty log, until a check finds no damage")
  func unreleased() async throws {
    await (try folder.mirrored([[person(1)]])).close()
    let second = try await Cache.open(
      path: folder.cache, upstream: upstream, resources: [.character], wasReleased: false, now: noon, logger: quiet)
    #expect(await second.opened.wasUnclean)
    #expect(await second.needsCheck)
    #expect(try await second.check())
    #expect(await second.needsCheck == false)
    await second.close()
  }

  @Test("A cache that cannot be made or is locked is 73, with a hint")
  func cannotOpen() async throws {
    let failure = await #expect(throws: Failure.self) {
      _ = try await Cache.open(
        path: folder.path + "/none/roster.db", upstream: upstream, resources: [.character], now: noon, logger: quiet)
    }
    #expect(failure?.kind == .cannotWrite)
    #expect(failure?.hint != nil)
    let troubles: [(Int32, Diagnosis.Kind)] = [
      (5, .locked), (8, .unwritable), (10, .disk), (11, .damaged), (13, .diskFull), (14, .unwritable), (26, .damaged),
    ]
    for (code, trouble) in troubles {
      let failure = SQLiteError(code: code, message: "m").failure("s", "p")
      #expect(failure.kind == .cannotWrite && failure.hint != nil && failure.trouble == trouble)
    }
    #expect(SQLiteError(code: 1, message: "m").failure("s", "p").kind == .defect)
  }
}
