import FoundationEssentials
import Glibc
import RosterCore
import Testing

@testable import RosterCache

/// Caches that rosterd 0.1.0 and 0.2.0 made (Fixtures/README.md), each with its records as SQL.
struct OlderCacheTests {
  struct Older: CustomTestStringConvertible {
    var fixture: String
    var version: Int
    var records: String
    var testDescription: String { fixture }
  }

  private static let all = [
    Older(fixture: "first", version: 1, records: "SELECT id || name FROM characters ORDER BY id"),
    Older(fixture: "later", version: 1, records: "SELECT id || name FROM characters ORDER BY id"),
    Older(fixture: "second", version: 2, records: "SELECT id || name FROM pilots ORDER BY id"),
    Older(fixture: "second-broken", version: 2, records: "SELECT id || name FROM pilots ORDER BY id"),
  ]
  private static let pages = [people(1...2), people(3...4)]

  let folder = Folder()

  private func take(_ older: Older) throws {
    let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(older.fixture)")
    for name in ["roster.db", "roster.db.pulled"] {
      guard let bytes = try? Data(contentsOf: source.appending(path: name)) else { continue }
      try folder.write(bytes, to: name)
    }
  }

  private func ask(_ sql: String, of name: String) throws -> [String] {
    let database = try Database(path: "\(folder.path)/\(name)", access: .readOnly)
    return try database.rows(sql) { $0.text(0) }
  }

  /// Every file of the folder that belongs to a cache.
  private func files() throws -> [String] {
    try folder.names().filter { $0.hasPrefix("roster.db") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
  }

  @Test("57: a cache of a build before the release of 0.3, whose tables differ, is replaced too")
  func early() async throws {
    let before = try await folder.define()
    _ = try await before.mirror(Self.pages)
    await before.close()
    let writer = try Database(path: folder.cache, access: .writer)
    try writer.execute("PRAGMA user_version = 3; DROP VIEW main.cache_info; DROP TABLE main.sync_resources")
    writer.close()
    let cache = try await folder.define()
    let facts = try await cache.facts()
    #expect(facts.older == .read && facts.snapshot == nil)
    _ = try await cache.mirror(Self.pages)
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["4"])
    #expect(try files().contains("roster.db.schema-3"))
    await cache.close()
  }

  @Test("57: readers see an older cache until the first publication, which moves it aside", arguments: all)
  func replaced(older: Older) async throws {
    try take(older)
    let aside = "roster.db.schema-\(older.version)"
    let (records, feed) = (try folder.ask(older.records), try folder.ask("SELECT feed FROM cache_info"))
    #expect(!records.isEmpty)
    let cache = try await folder.define()
    #expect(try folder.ask("PRAGMA user_version") == ["\(older.version)"])
    let facts = try await cache.facts()
    #expect(facts.older == .read && facts.snapshot == nil)
    let record = try await cache.begin(at: noon)
    #expect(try folder.ask(older.records) == records)
    try await cache.end(record, at: noon, history: ninetyDays)
    #expect(try folder.ask(older.records) == records && !files().contains("roster.db.published"))
    let fresh = try await cache.facts().feed.replacing("-empty", with: "")

    // A reader that may not write cannot create a file that is missing for a moment.
    let watch = try FolderWatch(folder.path, for: IN_MOVED_FROM | IN_DELETE)
    _ = try await cache.mirror(Self.pages)
    let gone = watch.names()
    #expect(gone.allSatisfy { !["roster.db", "roster.db-wal", "roster.db-shm"].contains($0) }, "\(gone)")
    #expect(try folder.ask("SELECT id FROM characters ORDER BY id") == ["1", "2", "3", "4"])
    #expect(try folder.ask("PRAGMA user_version") == ["\(Schema.version)"])
    // The feed was made with the successor.
    let own = try folder.ask("SELECT feed FROM cache_info")
    #expect(own != feed && own == [fresh])
    #expect(try await cache.facts().older == .moved("\(folder.cache).schema-\(older.version)"))
    #expect(try ask(older.records, of: aside) == records)
    #expect(try folder.mode(aside) == CacheFile.privateMode && folder.mode("roster.db") == CacheFile.mode)
    let moved = older.fixture == "second-broken" ? [aside + ".pulled"] : []
    #expect(try files() == ["roster.db", "roster.db.next", "roster.db.published", aside] + moved)
    // The next sync goes on in the same file.
    #expect(try await cache.mirror([people(1...2), people(3...5)]).added == 1)
    try await folder.expectSound(closing: cache)
  }

  @Test("57: the daemon opens the new cache for requests when it has its name, on files that all programs share")
  func requests() async throws {
    try take(Self.all[2])
    let cache = try await folder.define()
    let reader = SideReader(beside: cache)
    await #expect(throws: Failure.self) { _ = try await reader.recent(SyncsRequest(limit: 9)) }
    #expect(throws: Failure.self) { _ = try CacheReader(path: folder.cache) }
    let report = try await cache.mirror(Self.pages)
    #expect(try await reader.recent(SyncsRequest(limit: 9)).map(\.id) == [report.id])
    // Another program sees what the writer writes next.
    let other = try CacheReader(path: folder.cache)
    let later = try await cache.mirror([people(1...2), people(3...5)])
    #expect(try other.recent(limit: 1).map(\.id) == [later.id])
    await reader.close()
    try await folder.expectSound(closing: cache)
  }

  @Test("57: a cache of this version that a user puts at the path during the first sync is used by the next one")
  func restored() async throws {
    let other = Folder()
    await (try other.mirrored(.character, pages: [people(1...2)])).close()
    try take(Self.all[2])
    let cache = try await folder.define()
    for part in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.cache + part) }
    try FileManager.default.removeItem(atPath: folder.cache)
    try folder.write(other.bytes())
    #expect(try await cache.mirror([people(1...2), people(3...4)]).added == 2)
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["4"])
    #expect(try folder.names().allSatisfy { !$0.contains("successor") })
    try await folder.expectSound(closing: cache)
  }

  @Test("43, 57: a file of another program that has the name of the new cache stays")
  func foreign() async throws {
    try folder.write(Array("somebody's".utf8), to: "roster.db.successor")
    try folder.write(Array("somebody's".utf8), to: "roster.db.successor.next")
    await (try folder.mirrored(.character, pages: Self.pages)).close()
    for name in ["roster.db.successor", "roster.db.successor.next"] {
      #expect(try folder.bytes(name) == Data("somebody's".utf8))
    }
  }

  @Test("57: pages that a stopped first sync has pulled are of use to the next one")
  func resumed() async throws {
    try take(Self.all[2])
    let cache = try await folder.define()
    let record = try await cache.begin(at: noon)
    try await cache.append([Pull(cache: cache).received(.character, 1, people(1...2))])
    try await cache.end(record, at: noon, history: ninetyDays)
    await cache.close()
    let next = try await folder.define()
    _ = try await next.begin(at: noon)
    #expect(try await next.known("character", addresses: [address(1)])[address(1)]?.state == .kept)
    await next.close()
    #expect(try folder.ask("PRAGMA user_version") == ["2"])
  }

  @Test("57: a start completes the switch to a published successor")
  func completed() async throws {
    let other = Folder()
    await (try other.mirrored(.character, pages: Self.pages)).close()
    try take(Self.all[2])
    try folder.write(other.bytes(), to: "roster.db.successor")
    let cache = try await folder.define()
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["4"])
    #expect(try ask("SELECT count(*) FROM pilots", of: "roster.db.schema-2") != ["0"])
    #expect(try files() == ["roster.db", "roster.db.next", "roster.db.published", "roster.db.schema-2"])
    try await folder.expectSound(closing: cache)
  }

  @Test(
    "57: a start removes what a switch left that was cut short after the rename",
    arguments: ["roster.db.successor-wal", "roster.db.successor-shm", "roster.db.successor.next"])
  func leftovers(name: String) async throws {
    await (try folder.mirrored(.character, pages: Self.pages)).close()
    try folder.write([], to: name)
    await (try folder.define()).close()
    #expect(try folder.names().allSatisfy { !$0.contains("successor") })
  }

  @Test("57: a reader in a transaction delays the switch until the next sync, since a log has a part of the cache")
  func pinned() async throws {
    try take(Self.all[2])
    let writer = try Database(path: folder.cache, access: .writer)
    try writer.execute("PRAGMA journal_mode = WAL")
    let reader = try Database(path: folder.cache, access: .readOnly)
    try reader.execute("BEGIN")
    let records = try reader.count("SELECT count(*) FROM main.pilots")
    try writer.execute("UPDATE main.syncs SET error = 'later' WHERE id = 1")
    let cache = try await folder.define()
    _ = try await cache.mirror(Self.pages)
    #expect(
      try folder.ask("PRAGMA user_version") == ["2"] && folder.ask("SELECT error FROM syncs WHERE id = 1") == ["later"])
    #expect(try reader.count("SELECT count(*) FROM main.pilots") == records)
    try reader.execute("COMMIT")
    for database in [reader, writer] { database.close() }
    #expect(try await cache.mirror(Self.pages).outcome == .unchanged)
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["4"])
    #expect(try ask("SELECT error FROM syncs WHERE id = 1", of: "roster.db.schema-2") == ["later"])
    try await folder.expectSound(closing: cache)
  }

  @Test("57: an older cache that is damaged is moved aside too")
  func damaged() async throws {
    try take(Self.all[2])
    try folder.write(folder.bytes().prefix(5000))
    let cache = try await folder.define()
    _ = try await cache.mirror(Self.pages)
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["4"])
    #expect(try folder.bytes("roster.db.schema-2").count == 5000)
    try await folder.expectSound(closing: cache)
  }

  @Test("57: if the older cache cannot be moved aside, it stays, and the next publication tries again")
  func blocked() async throws {
    try take(Self.all[2])
    let aside = folder.path + "/roster.db.schema-2"
    try FileManager.default.createDirectory(atPath: aside, withIntermediateDirectories: false)
    let cache = try await folder.define()
    _ = try await cache.mirror(Self.pages)
    #expect(try folder.ask("PRAGMA user_version") == ["2"])
    try #require(rmdir(aside) == 0)
    _ = try await cache.mirror([people(1...2), people(3...5)])
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["5"])
    try await folder.expectSound(closing: cache)
  }
}
