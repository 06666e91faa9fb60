import FoundationEssentials
import Glibc
import RosterFiles
import RosterModel
import Testing

@testable import RosterCache

/// Caches that rosterd 0.1.0 made (Fixtures/README.md).
struct FirstVersionTests {
  let folder = Folder()

  private func take(_ fixture: String, ownStaging: Bool = true) throws -> String {
    let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(fixture)")
    for name in ["roster.db", "roster.staging.db"] {
      guard let bytes = try? Data(contentsOf: source.appending(path: name)) else { continue }
      try folder.write(bytes, to: name)
    }
    // A copy is another file than the one that the staging knows: as if it had been made here.
    if ownStaging, fileStatus(folder.staging) != nil {
      let staging = try Database(path: folder.staging, access: .writer)
      try staging.run("UPDATE info SET file = ?", Value(FileIdentity(folder.cache)?.text))
      staging.close()
    }
    return try #require(try folder.ask("SELECT upstream FROM cache_identity").first)
  }

  @Test("C3.3: a cache of 0.1 keeps its feed, rows, history and rejects; its staging file is removed")
  func later() async throws {
    let upstream = try take("later")
    let feed = try folder.ask("SELECT feed FROM cache_info")
    let rows = try folder.ask("SELECT id || name || coalesce(extra, '') FROM characters ORDER BY id")
    let changes = try folder.ask(
      "SELECT id || sync_id || character_id || kind || at || coalesce(before, '') FROM changes ORDER BY id")
    let syncs = try folder.ask(
      "SELECT id || started_at || outcome || pages || characters || requests FROM syncs ORDER BY id")
    let rejects = try folder.ask("SELECT page || position || reason || document FROM rejects")
    let cache = try await folder.define(upstream: upstream)
    #expect(try folder.ask("PRAGMA user_version") == ["3"])
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    #expect(try folder.ask("SELECT id || name || coalesce(extra, '') FROM characters ORDER BY id") == rows)
    #expect(
      try folder.ask("SELECT id || sync_id || record_id || kind || at || coalesce(before, '') FROM changes ORDER BY id")
        == changes)
    #expect(
      try folder.ask("SELECT id || started_at || outcome || pages || records || requests FROM syncs ORDER BY id")
        == syncs)
    #expect(
      try folder.ask("SELECT page || position || reason || document FROM rejects WHERE resource = 'character'")
        == rejects)
    #expect(rows.count == 8 && changes.count == 2 && rejects.count == 1)
    #expect(try folder.ask("SELECT record_id || (document ->> '$.name') FROM removed") == ["9Pilot 9"])
    #expect(try folder.ask("SELECT records || ' ' || pages || proof FROM resources") == ["8 2count"])
    #expect(
      try folder.ask("SELECT resource || records FROM sync_resources ORDER BY sync_id") == ["character9", "character8"])
    #expect(try folder.names().allSatisfy { !$0.contains("staging") })
    #expect(try await cache.facts().snapshot == 2)
    try await folder.expectSound(closing: cache)
    // Unchanged records are not reported as changes, and ids of changes continue.
    let next = try await folder.define(upstream: upstream)
    let record = try await next.begin(at: noon).record
    _ = try await next.compare()
    #expect(try await next.missing("character", after: 0, limit: 99).count == 8)
    #expect(try await next.publish(record, decisions: [:], at: noon, history: .seconds(9e9)).removed == 8)
    #expect(try folder.ask("SELECT min(id) FROM changes WHERE sync_id = \(record.id)") == ["3"])
    try await folder.expectSound(closing: next)
  }

  @Test("C3.3: an interrupted pull of 0.1 is dropped, and the feed is kept")
  func broken() async throws {
    let upstream = try take("broken")
    let feed = try folder.ask("SELECT feed FROM cache_info")
    let cache = try await folder.define(upstream: upstream)
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    #expect(try folder.ask("SELECT outcome FROM syncs ORDER BY id") == ["published", "failed"])
    #expect(try folder.names().allSatisfy { !$0.contains("staging") })
    try await folder.expectSound(closing: cache)
  }

  @Test("C3.3: a copied cache of 0.1 gets another feed, as a restored one does", arguments: ["first", "later"])
  func copied(fixture: String) async throws {
    let upstream = try take(fixture, ownStaging: false)
    let feed = try folder.ask("SELECT feed FROM cache_info")
    let cache = try await folder.define(upstream: upstream)
    #expect(try folder.ask("SELECT feed FROM cache_info") != feed)
    #expect(try folder.ask("SELECT count(*) FROM characters") == [fixture == "first" ? "9" : "8"])
    await cache.close()
  }

  @Test("C7.1: a file of another program with the name of 0.1's staging is left unchanged, mode included")
  func foreignStaging() async throws {
    let upstream = try take("first")
    try folder.write(Array("somebody's".utf8), to: "roster.staging.db")
    try #require(chmod(folder.staging, 0o604) == 0)
    await (try folder.define(upstream: upstream)).close()
    #expect(try folder.bytes("roster.staging.db") == Data("somebody's".utf8))
    #expect(try folder.mode("roster.staging.db") == 0o604)
  }

  @Test("C7.2: an interrupted migration has changed nothing")
  func rolledBack() async throws {
    let upstream = try take("later")
    let database = try Database(path: folder.cache, access: .writer)
    // This table has the name of a table of version 2.
    try database.execute("CREATE TABLE sync_resources(x)")
    let before = try database.rows("SELECT sql FROM sqlite_schema ORDER BY rowid") { $0.optionalText(0) }
    database.close()
    await #expect(throws: Failure.self) { _ = try await folder.define(upstream: upstream) }
    let after = try Database(path: folder.cache, access: .writer)
    #expect(try after.rows("SELECT sql FROM sqlite_schema ORDER BY rowid") { $0.optionalText(0) } == before)
    #expect(try after.first("PRAGMA user_version") { $0.int(0) } == 1)
    after.close()
  }
}
