import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import Testing

@testable import RosterCache

struct PulledPagesTests {
  let folder = Folder()

  /// Two of three pages received, and the sync at a stop.
  @discardableResult
  private func broken(_ cache: Cache? = nil) async throws -> Cache {
    let cache = if let cache { cache } else { try await folder.define() }
    _ = try await cache.begin(at: noon)
    let pull = Pull(cache: cache)
    try await cache.append([pull.received(.character, 1, people(1...2))])
    try await cache.append([pull.received(.character, 2, people(3...4))])
    return cache
  }

  @Test("40: pages of a killed sync are known with validator, count, time, and the next page's address")
  func survives() async throws {
    let cache = try await broken()
    var third = try await Pull(cache: cache).received(.character, 3, people(5...6))
    third.next = "/page?page=4"
    try await cache.append([third])
    // The files after a kill, in their own place.
    let other = try folder.copy()
    await cache.close()
    for name in try other.names() { try folder.write(other.bytes(name), to: name) }
    let next = try await folder.define()
    let record = try await next.begin(at: noon)
    let known = try await next.known("character", addresses: (1...4).map(address))
    #expect(known.count == 3)
    let page = try #require(known[address(3)])
    #expect(page.state == .kept && page.validator.etag == "\"3\"" && page.receivedAt == noon)
    #expect(page.next == "/page?page=4" && page.count == 1 && page.last == 1 && page.records == 2)
    // Taken over and published; nothing of it is left.
    try await next.confirm(
      "character", pages: (1...3).map { ConfirmedPage(number: $0, page: try #require(known[address($0)])) })
    #expect(try await next.compare().first?.distinct == 6)
    #expect(try await next.publish(record).added == 6)
    #expect(try folder.stagedPages() == 0)
    try await folder.expectSound(closing: next)
  }

  @Test("A large file of temporary tables is given back when a sync ends", arguments: [nil, Int32(73)])
  func room(exit: Int32?) async throws {
    let cache = try await broken()
    try await cache.enlargeTemporaryTables()
    #expect(try await cache.temporaryPages > 256)
    var record = try await cache.begin(at: noon)
    if let exit {
      record.exit = exit
      try await cache.end(record, at: noon, history: ninetyDays)
    } else {
      _ = try await cache.compare()
      _ = try await cache.publish(record)
    }
    #expect(try await cache.temporaryPages < 64)
    // Kept pages are known as before.
    _ = try await cache.begin(at: noon)
    let known = try await cache.known("character", addresses: (1...2).map(address))
    #expect(
      known.values.allSatisfy { $0.state == (exit == nil ? .published : .kept) } && known.count == (exit == nil ? 0 : 2)
    )
    await cache.close()
  }

  @Test("13: the seen keys are those of a page of this sync, not of a later page that an interrupted sync received")
  func seen() async throws {
    let cache = try await broken()
    _ = try await cache.begin(at: noon)
    let known = try await cache.known("character", addresses: [address(2)])
    try await cache.confirm("character", pages: [ConfirmedPage(number: 2, page: try #require(known[address(2)]))])
    #expect(try await cache.seenKeys("character", list: 0, limit: 9) == [.integer(3), .integer(4)])
    try await cache.append([Pull(cache: cache).received(.character, 1, people(5...6))])
    #expect(try await cache.seenKeys("character", list: 0, limit: 9) == [.integer(5), .integer(6)])
    await cache.close()
  }

  @Test("40: a page that a power failure tore is dropped with all later ones", arguments: [1, 40, 200, 700])
  func torn(bytes: Int) async throws {
    let cache = try await broken()
    await cache.close()
    let whole = try folder.bytes("roster.db.next-wal")
    try #require(truncate(folder.pulled + "-wal", whole.count - bytes) == 0)
    let next = try await folder.define()
    _ = try await next.begin(at: noon)
    #expect(try await Set(next.known("character", addresses: [address(1), address(2)]).keys) == [address(1)])
    // The next page is appended after the first.
    try await next.append([Pull(cache: next).received(.character, 2, people(3...4))])
    #expect(try await next.compare().first?.pages == 1)
    await next.close()
  }

  @Test("40: any changed byte of a pulled page is noticed")
  func flipped() async throws {
    let cache = try await broken()
    await cache.close()
    let (name, whole) = ("roster.db.next-wal", try folder.bytes("roster.db.next-wal"))
    for offset in stride(from: 0, to: whole.count, by: 997) {
      var bytes = whole
      bytes[offset] ^= 0x20
      try folder.write(bytes, to: name)
      let next = try await folder.define()
      _ = try await next.begin(at: noon)
      #expect(try await next.known("character", addresses: [address(1), address(2)]).count < 2, "byte \(offset)")
      await next.close()
      try folder.write(whole, to: name)
    }
  }

  @Test(
    "9, 40: pulled pages of another upstream, definition, feed or snapshot are dropped",
    arguments: ["upstream", "definition", "feed", "snapshot"])
  func ofAnother(what: String) async throws {
    let cache = try await broken()
    await cache.close()
    var other = Resource.character
    if what == "definition" { other.records = at("list") }
    let database = try Database(path: folder.cache, access: .writer)
    if what == "feed" { try database.execute("UPDATE cache_identity SET feed = 'other'") }
    if what == "snapshot" { try database.execute("UPDATE syncs SET outcome = 'unchanged'") }
    database.close()
    let next = try await folder.define([other], upstream: what == "upstream" ? "http://other" : upstream)
    _ = try await next.begin(at: noon)
    #expect(try await next.known("character", addresses: [address(1)]).isEmpty)
    #expect(try folder.stagedPages() == 0)
    await next.close()
  }

  @Test("40: a crash between the COMMIT of a publish and its end loses nothing and publishes nothing twice")
  func crashAfterCommit() async throws {
    let cache = try await folder.define()
    let record = try await cache.pull(pages: paired(people(1...4)))
    let pulled = try folder.staged()
    _ = try await cache.publish(record)
    await cache.close()
    // Not emptied yet.
    try folder.write(staged: pulled)
    let feed = try folder.ask("SELECT feed FROM cache_info")
    let next = try await folder.define()
    _ = try await next.begin(at: noon)
    let known = try await next.known("character", addresses: [address(1), address(2)])
    #expect(known.count == 2 && known.values.allSatisfy { $0.state == .published })
    let written = try await next.mirror([nil, nil])
    #expect(written.outcome == .unchanged && written.records == 4)
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    try await folder.expectSound(closing: next)
  }

  // The test runs in its own process, because all threads share the limit.
  @Test("40: pages that the disk does not take (73) are not kept, but earlier and later ones are")
  func full() async {
    await #expect(processExitsWith: .success) {
      signal(SIGXFSZ, SIG_IGN)
      let folder = Folder()
      let cache = try await folder.define()
      _ = try await cache.begin(at: noon)
      let pull = Pull(cache: cache)
      try await cache.append([pull.received(.character, 1, people(1...2))])
      let size = fileSize(folder.pulled + "-wal")
      var limit = rlimit()
      try #require(getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      let usual = limit
      // The temporary tables' files are below it.
      limit.rlim_cur = rlim_t(size + 100)
      try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      let failure = await #expect(throws: Failure.self) {
        try await cache.append([pull.received(.character, 2, people(3...4))])
      }
      #expect(failure?.kind == .cannotWrite)
      #expect(try folder.stagedPages() == 1)
      limit = usual
      try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      try await cache.append([pull.received(.character, 2, people(3...4))])
      #expect(try await cache.compare().first?.distinct == 4)
      await cache.close()
    }
  }

  @Test("51: a guarded pull is kept, and distinguished from an interrupted one")
  func guarded() async throws {
    let cache = try await broken()
    try await cache.concludePull(of: 1, isGuarded: true, [:])
    await cache.close()
    let next = try await folder.define()
    _ = try await next.begin(at: noon)
    try await next.append([Pull(cache: next).received(.character, 2, people(3...4, mark: "!"))])
    let known = try await next.known("character", addresses: [address(1), address(2)])
    #expect(known[address(1)]?.state == .guarded && known[address(2)]?.state == .kept)
    await next.close()
  }

  @Test("18, 40: after drift nothing of the pull is left, and no published page is requested conditionally")
  func discarded() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    let record = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(.character, pages: [nil, people([2, 3])])
    #expect(try await cache.compare().first?.repeats == 1)
    try await cache.discard("character")
    #expect(try await cache.known("character", addresses: [address(1), address(2)]).isEmpty)
    #expect(try folder.stagedPages() == 0)
    try await Pull(cache: cache).pages(.character, pages: paired(people(1...4)))
    let found = try #require(try await cache.compare().first)
    #expect(found.distinct == 4 && found.repeats == 0 && found.missing == 0)
    #expect(try await cache.publish(record).outcome == .unchanged)
    try await folder.expectSound(closing: cache)
  }

  @Test(
    "43: a foreign file of the pulled pages' name is left unchanged, mode included, and no cache is made",
    arguments: [true, false])
  func foreign(isCacheThere: Bool) async throws {
    if isCacheThere { await (try folder.define()).close() }
    if isCacheThere { try #require(unlink(folder.pulled) == 0) }
    try folder.write(Array("somebody's\n".utf8), to: "roster.db.next")
    try #require(chmod(folder.pulled, 0o644) == 0)
    let failure = await #expect(throws: Failure.self) { _ = try await folder.define() }
    #expect(failure?.kind == .cannotWrite && failure?.subject == folder.pulled)
    #expect(try folder.bytes("roster.db.next") == Data("somebody's\n".utf8))
    #expect(try folder.mode("roster.db.next") == 0o644)
    #expect(try folder.names().contains("roster.db") == isCacheThere)
  }

  @Test("2: damaged pulled pages, header included, cost one pull and no more")
  func damagedHeader() async throws {
    let cache = try await broken()
    await cache.close()
    let handle = open(folder.pulled, O_WRONLY | O_CLOEXEC)
    try #require(pwrite(handle, "garbage garbage garbage", 23, 0) == 23)
    close(handle)
    let next = try await folder.define()
    _ = try await next.begin(at: noon)
    #expect(try await next.known("character", addresses: [address(1)]).isEmpty)
    await next.close()
  }

  @Test("2: `roster` and `roster.db` have separate pulled pages")
  func names() async throws {
    let one = try await folder.define()
    let two = try await Cache.open(
      path: folder.path + "/roster", upstream: upstream, resources: [.character], now: noon, logger: quiet)
    #expect(one.pulledPath != two.pulledPath)
    await one.close()
    await two.close()
  }

  @Test("1: a cache that was made again since the sync began is neither compared nor published")
  func madeAnew() async throws {
    let cache = try await folder.define()
    let record = try await cache.pull(pages: paired(people(1...4)))
    try CacheFile.remove(folder.cache)
    try await cache.reopenIfReplaced(at: noon)
    for attempt in 0..<3 {
      let failure = await #expect(throws: Failure.self) {
        switch attempt {
        case 0: try await cache.append([Pull(cache: cache).received(.character, 3, people([5]))])
        case 1: _ = try await cache.compare()
        default: _ = try await cache.publish(record)
        }
      }
      #expect(failure?.kind == .cannotWrite)
    }
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["0"])
    // The next one is whole.
    #expect(try await cache.mirror(paired(people(1...4))).added == 4)
    await cache.close()
  }

  @Test("2: the next sync makes a removed file of pulled pages again")
  func removed() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    try #require(unlink(folder.pulled) == 0)
    #expect(try await cache.mirror(paired(people(1...5))).added == 1)
    #expect(try folder.mode("roster.db.next") == 0o600)
    await cache.close()
  }

  /// The files of a backup that are restored, and their place.
  enum Restore: CaseIterable { case beside, alone, together, overBeside, overAlone }

  @Test(
    "7: a restored cache has another feed, and ids of followed changes are not used again",
    arguments: Restore.allCases)
  func putBack(how: Restore) async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    try await broken(cache)
    await cache.close()
    let backup = (cache: try folder.bytes(), pulled: try folder.staged())
    let feed = try folder.ask("SELECT feed FROM cache_info")
    await (try folder.mirrored(paired(people(1...4, mark: "!")))).close()
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)

    if ![.overBeside, .overAlone].contains(how) { try CacheFile.remove(folder.cache) }
    try folder.write(backup.cache)
    if ![.beside, .overBeside].contains(how) { try #require(unlink(folder.pulled) == 0) }
    if how == .together { try folder.write(staged: backup.pulled) }
    let third = try await folder.define()
    #expect(try folder.ask("SELECT name FROM characters WHERE id = 1") == ["Name 1"])
    let next = try folder.ask("SELECT feed FROM cache_info")
    #expect(next != feed)
    _ = try await third.begin(at: noon)
    // Pages that were pulled with it are still valid, and it contains the published ones.
    let known = try await third.known("character", addresses: [address(1), address(2)])
    #expect(known.values.allSatisfy { $0.state == (how == .together ? .kept : .published) } && known.count == 2)
    await third.close()
    let fourth = try await folder.define()
    #expect(try folder.ask("SELECT feed FROM cache_info") == next)
    await fourth.close()
  }

  @Test(
    "7: the feed survives stops, kills and another upstream, and is another one from the first snapshot on")
  func feed() async throws {
    let cache = try await folder.define()
    let empty = try folder.ask("SELECT feed FROM cache_info")
    _ = try await cache.mirror(paired(people(1...4)))
    let feed = try folder.ask("SELECT feed FROM cache_info")
    #expect(feed != empty)
    // The first cache is not closed, as after a kill.
    let second = try await folder.define(upstream: "http://other")
    _ = try await second.mirror(paired(people(1...4, mark: "!")))
    await second.close()
    let third = try await folder.define()
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    // Now in a running rosterd, which knows its cache.
    try #require(unlink(folder.pulled) == 0)
    _ = try await third.mirror(paired(people(1...4, mark: "?")))
    await third.close()
    await cache.close()
    let fourth = try await folder.define()
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    await fourth.close()
  }
}

extension Cache {
  fileprivate func enlargeTemporaryTables() throws {
    try connection.execute(
      """
      INSERT INTO temp.missed_pages
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT i, 0, 0 FROM n
      """)
  }

  fileprivate var temporaryPages: Int {
    get throws { try connection.count("PRAGMA temp.page_count") }
  }
}
