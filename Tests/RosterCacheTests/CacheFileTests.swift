import FoundationEssentials
import Glibc
import RosterCore
import Testing

@testable import RosterCache

struct CacheFileTests {
  let folder = Folder()

  /// Opening it fails with 73 and changes neither the file nor its mode nor the folder.
  private func expectUntouched(mentioning words: String) async throws {
    try #require(chmod(folder.cache, 0o604) == 0)
    let names = try folder.names()
    let bytes = try folder.bytes()
    let failure = await #expect(throws: Failure.self) { _ = try await folder.define() }
    #expect(failure?.kind == .cannotWrite)
    #expect(failure?.cause.contains(words) == true, "\(String(describing: failure))")
    #expect(try folder.bytes() == bytes)
    #expect(try folder.mode("roster.db") == 0o604)
    #expect(try folder.names() == names)
  }

  /// It is moved aside unchanged, and a new cache replaces it.
  private func expectMovedAside() async throws {
    let bytes = try folder.bytes()
    let cache = try await folder.define()
    let aside = try #require(await cache.opened.movedAside)
    #expect(aside == folder.cache + ".damaged-" + noon.rfc3339 && cache.damagedAt == noon)
    #expect(try Data(contentsOf: URL(filePath: aside)) == bytes)
    #expect(try await cache.mirror([[person(1)]]).outcome == .published)
    try await folder.expectSound(closing: cache)
    try await expectReported(aside)
  }

  /// The moved cache is reported after another start, until the file is removed.
  private func expectReported(_ aside: String) async throws {
    let again = try await folder.define()
    #expect(try await again.facts().damaged == aside)
    #expect(unlink(aside) == 0)
    #expect(try await again.facts().damaged == nil)
    await again.close()
  }

  @Test("43: a file of another program is left alone, mode included")
  func foreign() async throws {
    try CacheFile.touch(folder.cache, mode: 0o644)
    let database = try Database(path: folder.cache, access: .writer)
    try database.execute("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
    database.close()
    try await expectUntouched(mentioning: "another program")
    try folder.write([], to: "roster.db.lock")
    try await expectUntouched(mentioning: "another program")
  }

  @Test("43: a file that is not an SQLite file is left alone if rosterd has never run there")
  func garbage() async throws {
    try folder.write(Array("my holiday diary".utf8))
    try await expectUntouched(mentioning: "did not make")
  }

  @Test("43: a folder in the cache's place is refused")
  func notAFile() async throws {
    try #require(mkdir(folder.cache, 0o755) == 0)
    let failure = await #expect(throws: Failure.self) { _ = try await folder.define() }
    #expect(failure?.kind == .cannotWrite)
  }

  @Test("A cache that disappeared and cannot be opened again is 73 for the next request, not a defect")
  func notReopened() async throws {
    let cache = try await folder.define()
    for part in CacheFile.parts { unlink(folder.cache + part) }
    try #require(mkdir(folder.cache, 0o755) == 0)
    let atOnce = await #expect(throws: SyncStartError.self) { _ = try await cache.begin(at: noon) }.map {
      $0.cause as? Failure
    }
    let later = await #expect(throws: Failure.self) { _ = try await cache.facts() }
    #expect(atOnce??.kind == .cannotWrite && later?.kind == .cannotWrite && later?.cause == "it is not open")
    await cache.close()
  }

  @Test("43: a cache of a newer version is left alone")
  func newer() async throws {
    await (try folder.define()).close()
    let database = try Database(path: folder.cache, access: .writer)
    try database.execute("PRAGMA journal_mode = DELETE; PRAGMA user_version = \(Schema.version + 1)")
    database.close()
    try await expectUntouched(mentioning: "newer")
  }

  @Test("43: a newer version that only the WAL contains is found too")
  func newerInLog() async throws {
    let cache = try await folder.define()
    let database = try Database(path: folder.cache, access: .writer)
    try database.execute("PRAGMA user_version = \(Schema.version + 1)")
    let failure = await #expect(throws: Failure.self) { _ = try await folder.define() }
    #expect(failure?.cause.contains("newer") == true)
    #expect(try folder.ask("PRAGMA user_version") == ["\(Schema.version + 1)"])
    await cache.close()
  }

  @Test("42: a cache that another rosterd made between the check of its place and the lock is used, not replaced")
  func madeMeanwhile() async throws {
    let hadLock = CacheFile.hasLock(folder.cache)
    #expect(try CacheFile.inspect(folder.cache, hadLock: hadLock) == .absent)
    await (try folder.mirrored([[person(1)]])).close()
    let second = try await Cache.open(
      path: folder.cache, upstream: upstream, resources: [.character], hadLock: hadLock, now: noon, logger: quiet)
    #expect(try await second.facts().snapshot == 1)
    await second.close()
  }

  @Test("43: while a damaged cache is replaced, a file of its name exists at every moment")
  func replacedInOneStep() async throws {
    await (try folder.define()).close()
    try folder.write([UInt8](repeating: 0xA5, count: 100_000))
    try folder.write([], to: "roster.db.lock")
    let watch = try FolderWatch(folder.path, for: IN_MOVED_FROM | IN_DELETE)
    let cache = try await folder.define()
    #expect(await cache.opened.movedAside != nil)
    let gone = watch.names()
    #expect(!gone.contains("roster.db") && gone.contains("roster.db.new"), "\(gone)")
    await cache.close()
  }

  @Test("An empty file becomes the cache")
  func empty() async throws {
    try folder.write([])
    let cache = try await folder.define()
    #expect(await cache.opened == Cache.OpenReport())
    #expect(try await cache.facts().snapshot == nil)
    await cache.close()
  }

  @Test("43: an unreadable file beside rosterd's lock is a damaged cache")
  func garbageBesideLock() async throws {
    try folder.write(Array("my holiday diary".utf8))
    try folder.write([], to: "roster.db.lock")
    try await expectMovedAside()
  }

  @Test("43: a cache whose start was overwritten is recognised by the rest of its header")
  func brokenMagic() async throws {
    await (try folder.define()).close()
    var bytes = try folder.bytes()
    bytes.replaceSubrange(0..<16, with: [UInt8](repeating: 0, count: 16))
    try folder.write(bytes)
    try await expectMovedAside()
  }

  @Test("43: a cache whose tables are missing or unreadable is moved aside", arguments: [0, 1])
  func brokenSchema(kind: Int) async throws {
    await (try folder.define()).close()
    if kind == 0 {
      var bytes = try folder.bytes()
      bytes.replaceSubrange(100..<4096, with: [UInt8](repeating: 0xA5, count: 3996))
      try folder.write(bytes)
    } else {
      let database = try Database(path: folder.cache, access: .writer)
      try database.execute("DROP VIEW cache_info")
      database.close()
    }
    try await expectMovedAside()
  }

  @Test("The WAL of a lost cache is not applied to the new one")
  func orphanedLog() async throws {
    let cache = try await folder.define()
    _ = try await cache.begin(at: noon)
    let log = try folder.bytes("roster.db-wal")
    #expect(!log.isEmpty)
    await cache.close()
    try #require(unlink(folder.cache) == 0)
    try folder.write(log, to: "roster.db-wal")
    let next = try await folder.define()
    #expect(try CacheReader(path: folder.cache).recent(limit: 9).isEmpty)
    try await folder.expectSound(closing: next)
  }

  // The test runs in its own process, because all threads share the umask.
  @Test("3: the group may read the cache's files, and only the owner the pulled pages, whatever the umask")
  func modes() async {
    await #expect(processExitsWith: .success) {
      for mask: mode_t in [0o077, 0o000] {
        umask(mask)
        let folder = Folder()
        let cache = try await folder.define()
        _ = try await cache.mirror([[person(1)]])
        for part in CacheFile.parts { #expect(try folder.mode("roster.db" + part) == 0o640) }
        #expect(try folder.mode("roster.db.next") == 0o600)
        await cache.close()
      }
    }
  }

  @Test("3: each start restores the modes, and -wal and -shm stay after a stop")
  func modesAgain() async throws {
    await (try folder.define()).close()
    for part in CacheFile.parts { try #require(chmod(folder.cache + part, 0o666) == 0) }
    try #require(chmod(folder.pulled, 0o666) == 0)
    await (try folder.define()).close()
    #expect(try folder.mode("roster.db.next") == 0o600)
    for part in CacheFile.parts { #expect(try folder.mode("roster.db" + part) == 0o640) }
  }
}

extension CacheFileTests {
  @Test("43: a foreign file with the temporary name of a new cache stays; a file that a kill left there is removed")
  func unfinished() async throws {
    try folder.write(Array("somebody's".utf8), to: "roster.db.new")
    let failure = await #expect(throws: Failure.self) { _ = try await folder.define() }
    #expect(failure?.kind == .cannotWrite)
    #expect(try folder.bytes("roster.db.new") == Data("somebody's".utf8))
    #expect(try folder.names() == ["roster.db.new"])
    // Another rosterd's cache.
    let other = Folder()
    await (try other.define()).close()
    try folder.write(other.bytes(), to: "roster.db.new")
    await #expect(throws: Failure.self) { _ = try await folder.define() }
    #expect(try folder.bytes("roster.db.new") == other.bytes())
    // One that a kill left.
    let left = try Database(path: folder.cache + ".new", access: .writer)
    try left.execute("PRAGMA application_id = \(CacheFile.unfinishedID)")
    left.close()
    await (try folder.define()).close()
    #expect(try !folder.names().contains("roster.db.new"))
  }

  @Test("A first page of a new cache that a power failure left blank does not prevent a start")
  func blank() async throws {
    try folder.write(Array(repeating: 0, count: Schema.pageBytes), to: "roster.db.new")
    await (try folder.define()).close()
    #expect(try !folder.names().contains("roster.db.new"))
    // A file of more than a page may belong to another program.
    let other = Folder()
    try other.write(Array(repeating: 0, count: Schema.pageBytes + 1), to: "roster.db.new")
    await #expect(throws: Failure.self) { _ = try await other.define() }
    #expect(try other.bytes("roster.db.new").count == Schema.pageBytes + 1)
  }

  @Test("43: the latest three damaged caches that were moved aside are kept")
  func damagedCopies() async throws {
    await (try folder.define()).close()
    try CacheFile.touch(folder.cache + ".lock", mode: 0o600)
    try folder.write([1], to: "roster.db.damaged-by-hand")
    for day in 1...5 {
      try folder.write(Array(repeating: 7, count: 200))
      try folder.write([7], to: "roster.db-journal")
      let time = noon.addingTimeInterval(Double(day) * 86_400)
      let cache = try await Cache.open(
        path: folder.cache, upstream: upstream, resources: [.character], now: time, logger: quiet)
      #expect(await cache.opened.movedAside != nil)
      await cache.close()
    }
    let parts = try folder.names().filter { $0.contains("damaged-2") }
    #expect(parts.filter { $0.hasSuffix("-journal") }.count == 3)
    let copies = parts.filter { name in !["-wal", "-shm", "-journal"].contains { name.hasSuffix($0) } }
    #expect(copies == (3...5).map { "roster.db.damaged-\(noon.addingTimeInterval(Double($0) * 86_400).rfc3339)" })
    #expect(try folder.names().contains("roster.db.damaged-by-hand"))
  }
}
