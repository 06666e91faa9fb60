import FoundationEssentials
import RosterModel
import Testing

@testable import RosterCache

/// Caches that rosterd 0.2.0 made (Fixtures/README.md).
struct SecondVersionTests {
  private static let upstream = "http://127.0.0.1:8602/api"
  /// All that readers of 0.2 know.
  private static let contents = [
    "SELECT name || \"table\" || key || records || pages || proof || definition FROM resources ORDER BY name",
    "SELECT id || name || city || coalesce(nick, '-') || height || coalesce(extra, '-') || first_sync FROM pilots ORDER BY id",
    "SELECT record_id || node || title || open FROM tickets ORDER BY record_id",
    "SELECT pilot_id || position || name FROM pilot_ships ORDER BY pilot_id, position",
    "SELECT ticket_id || position || name || color || coalesce(extra, '-') FROM ticket_labels ORDER BY 1",
    "SELECT rowid FROM pilots_fts WHERE pilots_fts MATCH 'II'",
    "SELECT id || resource || record_id || kind || at || coalesce(before, '') || coalesce(after, '') FROM changes ORDER BY id",
    "SELECT resource || page || position || reason || document FROM rejects",
    "SELECT resource || record_id || at FROM removed",
    "SELECT id || started_at || outcome || requests || coalesce(error, '') FROM syncs ORDER BY id",
    "SELECT sync_id || resource || records FROM sync_resources ORDER BY 1",
    "SELECT id || address || number || etag || digest || hex(keys) FROM cache_pages ORDER BY 1",
    "WITH u(list, record, absent) AS (SELECT * FROM cache_unlisted) SELECT list || ' ' || record || absent FROM u ORDER BY 1",
  ]

  let folder = Folder()

  private func take(_ fixture: String) throws {
    let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(fixture)")
    for name in ["roster.db", "roster.db.pulled"] {
      guard let bytes = try? Data(contentsOf: source.appending(path: name)) else { continue }
      try folder.write(bytes, to: name)
    }
  }

  /// The resources of its configuration.
  private static let resources = [pilot, ticket, site]

  private static let pilot = Resource(
    name: "pilot", path: "/pilots", records: at("results"), table: "pilots", search: ["name"], byKey: "/pilots/{key}",
    pages: .init(.number(last: .body(at("info", "pages"))), count: .body(at("info", "count"))),
    columns: [
      .init("id", at: at("id"), .integer), .init("name", at: at("name")), .init("city", at: at("home", "city")),
      .init("nick", at: at("nick"), isNullable: true), .init("height", at: at("height"), .real),
    ],
    lists: [.init(table: "pilot_ships", at: at("ships"), columns: [.init("name", at: JSONPointer())])])

  private static let ticket = Resource(
    name: "ticket", path: "/tickets", records: at("items"), key: at("node"), table: "tickets", pages: .init(.link),
    columns: [.init("node", at: at("node")), .init("title", at: at("title")), .init("open", at: at("open"), .boolean)],
    lists: [
      .init(
        table: "ticket_labels", at: at("labels"),
        columns: [.init("name", at: at("name")), .init("color", at: at("color"))])
    ])

  private static let site = Resource(
    name: "site", path: "/sites", table: "sites", conditions: [.init(at("kind"), .equal(.text("x")))],
    pages: .init(.number(), size: .init(3), short: true),
    columns: [.init("id", at: at("id"), .integer), .init("name", at: at("name"))])

  private func contents() throws -> [[String]] { try Self.contents.map(folder.ask) }

  @Test("C3.1: a cache of 0.2 keeps its feed and every row; version 3 says that all validators are trusted")
  func migrated() async throws {
    try take("second")
    let (before, feed) = (try contents(), try folder.ask("SELECT feed FROM cache_info"))
    #expect(before.allSatisfy { !$0.isEmpty })
    let database = try Database(path: folder.cache, access: .writer)
    try database.keepLog()
    try Schema(Self.resources).migrate(database)
    database.close()
    #expect(try contents() == before)
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    #expect(try folder.ask("PRAGMA user_version") == ["3"])
    #expect(try folder.ask("SELECT schema_version FROM cache_info") == ["3"])
    let trust = try folder.ask("SELECT validators FROM resources WHERE distrusted_since IS NULL")
    #expect(trust == ["trusted", "trusted", "trusted"])
  }

  @Test("C3.1: a cache of an early build of 0.3, in which changes was a table, keeps every row")
  func early() throws {
    try take("second")
    let before = try contents()
    let database = try Database(path: folder.cache, access: .writer)
    try database.keepLog()
    try Schema(Self.resources).migrate(database)
    try database.execute(
      """
      DROP VIEW changes; DROP VIEW removed; ALTER TABLE cache_changes DROP COLUMN head;
      ALTER TABLE cache_changes DROP COLUMN rest; ALTER TABLE cache_changes RENAME TO changes
      """)
    try Schema(of: database).defineRemoved(database)
    try Schema(Self.resources).migrate(database)
    try Schema.look(database)
    database.close()
    #expect(try contents() == before)
  }

  @Test("C3.1, C5.7: in a cache of an early build of 0.3 a sync was verified at its end")
  func earlyTime() throws {
    try take("second")
    let database = try Database(path: folder.cache, access: .writer)
    try database.keepLog()
    try Schema(Self.resources).migrate(database)
    try database.execute(
      """
      DROP VIEW cache_info; ALTER TABLE syncs DROP COLUMN verified_at;
      CREATE VIEW cache_info AS SELECT finished_at AS verified_at FROM syncs
      """)
    try Schema(Self.resources).migrate(database)
    try Schema.look(database)
    database.close()
    let end = try folder.ask("SELECT max(finished_at) FROM syncs WHERE outcome IN ('published', 'unchanged')")
    #expect(try folder.ask("SELECT verified_at FROM cache_info") == end && !end.isEmpty)
    #expect(try folder.ask("SELECT count(*) FROM syncs WHERE verified_at IS NOT NULL") == ["0"])
  }

  @Test("C3.1: after the migration each page is known with its validator, so that nothing is transferred again")
  func known() async throws {
    try take("second")
    let cache = try await folder.define(Self.resources, upstream: Self.upstream)
    _ = try await cache.begin(at: noon)
    for (resource, addresses) in [
      ("pilot", ["/pilots?page=1", "/pilots?page=2", "/pilots?page=3"]),
      ("ticket", ["/tickets", "/tickets?page=2", "/tickets?page=3"]), ("site", ["/sites?page=1", "/sites?page=2"]),
    ] {
      let found = try await cache.known(resource, addresses: addresses)
      #expect(found.count == addresses.count && found.values.allSatisfy { $0.validator.etag != nil }, "\(resource)")
    }
    try await folder.expectSound(Self.resources, closing: cache)
  }

  @Test("C3.1: pages of a sync that 0.2 did not finish are pulled again, and the feed stays")
  func interrupted() async throws {
    try take("second-broken")
    let cache = try await folder.define(Self.resources, upstream: Self.upstream)
    _ = try await cache.begin(at: noon)
    let page = try await cache.known("pilot", addresses: ["/pilots?page=1"])["/pilots?page=1"]
    #expect(page?.state != .kept && page?.state != .guarded)
    #expect(try !folder.names().contains("roster.db.pulled"))
    await cache.close()
  }

  @Test("C3.2: another by_key_records or pages.value keeps the feed, another done or shape does not")
  func keptFeed() async throws {
    var resource = Resource.character
    func feed() async throws -> [String] {
      let cache = try await folder.define([resource])
      _ = try await cache.mirror(resource, pages: [people(1...2), people(3...4)])
      await cache.close()
      return try folder.ask("SELECT feed FROM cache_info")
    }
    let first = try await feed()
    resource.byKeyRecords = at("data")
    resource.pages.value = .init("p{page}", placeholder: "{page}")
    #expect(try await feed() == first)
    #expect(
      try folder.ask("SELECT (definition ->> '$.by_key_records') || (definition ->> '$.pages.value') FROM resources")
        == ["/datap{page}"])
    resource.pages.done = .body(at("done"))
    let second = try await feed()
    resource.shape = .values
    let third = try await feed()
    #expect(second != first && third != second)
  }

  @Test("C3.2: another audit_every keeps the feed, the pages and the kept pages, and is in resources.definition later")
  func auditEvery() async throws {
    var resource = Resource.character
    let cache = try await folder.define([resource])
    _ = try await cache.mirror([people(1...2), people(3...4)])
    let record = try await cache.begin(at: noon).record
    try await cache.append([Pull(cache: cache).received(resource, 1, people(1...2, mark: "!"))])
    try await cache.end(record, at: noon, history: ninetyDays)
    await cache.close()
    let feed = try folder.ask("SELECT feed FROM cache_info")
    resource.auditEvery = nil
    let next = try await folder.define([resource])
    _ = try await next.begin(at: noon)
    let known = try await next.known("character", addresses: [address(1), address(2)])
    #expect(known[address(1)]?.state == .kept && known[address(2)]?.state == .published)
    await next.close()
    await (try folder.mirrored(resource, pages: [people(1...2, mark: "!"), people(3...4)])).close()
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    #expect(try folder.ask("SELECT definition ->> '$.audit_every' FROM resources") == ["never"])
  }

  @Test("C3.1: a migration that is interrupted has changed nothing")
  func rolledBack() async throws {
    try take("second")
    let database = try Database(path: folder.cache, access: .writer)
    // This column has the name of a column of version 3.
    try database.execute("ALTER TABLE resources ADD COLUMN distrusted_since TEXT")
    database.close()
    await #expect(throws: Failure.self) {
      _ = try await folder.define(Self.resources, upstream: Self.upstream)
    }
    #expect(try folder.ask("PRAGMA user_version") == ["2"])
    #expect(try folder.ask("SELECT name FROM pragma_table_info('resources') WHERE name = 'validators'").isEmpty)
    #expect(try folder.ask("SELECT schema_version FROM cache_info") == ["2"])
  }
}
