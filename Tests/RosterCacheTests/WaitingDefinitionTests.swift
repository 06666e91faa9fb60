import RosterCore
import Testing

@testable import RosterCache

struct WaitingDefinitionTests {
  let folder = Folder()

  private func feed() throws -> String { try #require(try folder.ask("SELECT feed FROM cache_info").first) }

  private let people = someRanked

  @Test("8, 56: readers see the old definition until a sync publishes the new one, under the same feed")
  func columns() async throws {
    let cache = try await folder.mirrored(paired(people))
    let (before, rows) = (try feed(), try folder.ask("SELECT id || gender FROM characters"))
    await cache.close()
    let next = try await folder.define([ranked])
    #expect(try await next.facts().waiting == ["character"])
    #expect(try folder.ask("SELECT id || gender FROM characters") == rows)
    #expect(try folder.ask("SELECT definition ->> '$.columns.rank.type' FROM resources") == [""])
    _ = try await next.begin(at: noon)
    #expect(try await next.known("character", addresses: [address(1), address(2)]).isEmpty)
    let report = try await next.mirror(ranked, pages: paired([people[0], person(2, more: #","rank":9"#)]))
    #expect(report.outcome == .published && [report.added, report.changed, report.removed] == [0, 2, 1])
    #expect(try await next.facts().waiting.isEmpty)
    #expect(
      try folder.ask("SELECT rank || extra FROM characters WHERE id = 1") == [
        #"7{"gender":"unknown","home":{"moons":1.50e2}}"#
      ])
    #expect(try folder.ask("SELECT name FROM pragma_table_info('characters') WHERE name = 'gender'").isEmpty)
    #expect(try folder.ask("SELECT url FROM character_episodes WHERE character_id = 2") == ["e/1", "e/2"])
    #expect(try folder.ask("SELECT rowid FROM characters_fts WHERE characters_fts MATCH 'name'").count == 2)
    #expect(try folder.ask("SELECT DISTINCT first_sync || '-' || changed_sync FROM characters") == ["1-\(report.id)"])
    #expect(try folder.ask("SELECT definition ->> '$.columns.rank.type' FROM resources") == ["integer"])
    // Each change has the old record by the old definition, and the new one by the new definition.
    let changes = "SELECT record_id || kind || (before ->> '$.gender') || coalesce(after ->> '$.rank', '') FROM changes"
    #expect(
      try folder.ask("\(changes) ORDER BY record_id") == ["1changedunknown7", "2changedunknown9", "3removedunknown"])
    #expect(try feed() == before)
    try await folder.expectSound([ranked], closing: next)
  }

  @Test("56: what a sync by a new definition pulls is pending until it is published, as it will be in changes")
  func pending() async throws {
    await (try folder.mirrored(paired(people))).close()
    let next = try await folder.define([ranked])
    let record = try await next.pull(ranked, pages: paired([people[0], person(4)]))
    let decisions = ["character": RemovalDecision()]
    let tried = try await next.tried(record, decisions: decisions, at: noon, history: ninetyDays)
    let pending = try CacheReader(path: folder.cache).pending()
    let found = try #require(pending.pull.resources.first)
    #expect([found.added, found.changed, found.removed] == [tried.added, tried.changed, tried.removed])
    #expect([tried.added, tried.changed, tried.removed] == [1, 1, 2] && tried.records == 2)
    var documents: [String] = []
    try pending.each { record, _ in documents.append("\(record.before ?? "-") \(record.after ?? "-")") }
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    let report = try await next.mirror(ranked, pages: paired([people[0], person(4)]))
    #expect([report.added, report.changed, report.removed, report.records] == [1, 1, 2, 2])
    let written = try folder.ask("SELECT coalesce(before, '-') || ' ' || coalesce(after, '-') FROM changes")
    #expect(written.sorted() == documents.sorted())
    try await folder.expectSound([ranked], closing: next)
  }

  @Test("56: a record that upstream does not list any more keeps the values of columns with the same place and type")
  func absent() async throws {
    let never = changed { $0.removal = .never }
    await (try folder.mirrored(never, pages: paired(people))).close()
    let other = changed {
      $0.removal = .never
      $0.columns.removeAll { $0.name == "gender" }
      $0.columns.append(.init("rank", at: at("rank"), .integer))
      $0.columns[1].name = "called"
      $0.search = ["called"]
    }
    let report = try await folder.redefine(other, pages: [[people[0]]])
    #expect([report.added, report.changed, report.removed] == [0, 3, 0])
    #expect(
      try folder.ask("SELECT record_id || (before ->> '$.gender') || (after ->> '$.called') FROM changes ORDER BY 1")
        == [
          "1unknownName 1", "2unknownName 2", "3unknownName 3",
        ])
    let rows = "SELECT json_array(id, called, species, rank, first_sync) FROM characters ORDER BY id"
    #expect(
      try folder.ask(rows) == [
        #"[1,"Name 1","Human",7,1]"#, #"[2,"Name 2","Human",null,1]"#, #"[3,"Name 3","Human",null,1]"#,
      ])
    #expect(try folder.ask("SELECT url FROM character_episodes WHERE character_id = 3") == ["e/1", "e/2"])
  }

  @Test("8: with another key no record stays, the feed is another one, and no record id is used again")
  func anotherKey() async throws {
    func thing(_ key: String, type: Resource.ColumnType) -> Resource {
      Resource(
        name: "thing", path: "/t", records: at("results"), key: at(key),
        columns: [.init(key, at: at(key), type), .init("name", at: at("name"))])
    }
    let pages = [[#"{"id":7,"slug":"a","name":"A"}"#, #"{"id":8,"slug":"b","name":"B"}"#]]
    await (try folder.mirrored(thing("id", type: .integer), pages: pages)).close()
    let before = try feed()
    let waiting = try await folder.define([thing("slug", type: .text)])
    #expect(try folder.ask("SELECT id FROM thing ORDER BY 1") == ["7", "8"] && feed() == before)
    await waiting.close()
    let report = try await folder.redefine(thing("slug", type: .text), pages: pages)
    #expect(report.outcome == .published && [report.added, report.removed, report.records] == [2, 0, 2])
    #expect(try folder.ask("SELECT slug FROM thing WHERE record_id > 8 ORDER BY 1") == ["a", "b"])
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    #expect(try feed() != before)
    #expect(try await folder.redefine(thing("slug", type: .text), pages: pages).outcome == .unchanged)
    // And back.
    #expect(try await folder.redefine(thing("id", type: .integer), pages: pages).records == 2)
    #expect(try folder.ask("SELECT id || name FROM thing ORDER BY 1") == ["7A", "8B"])
  }

  @Test("8, 22, 56: a definition that differs only in Unicode normalization is another one")
  func normalized() async throws {
    typealias Change = (inout Resource, String) -> Void
    let changes: [Change] = [
      { $0.columns.append(.init("place", at: at($1))) },
      { $0.conditions = [.init(at("gender"), .differs([.text($1)]))] },
      { $0.query = [.init("q", .text($1))] },
      { $0.path = "/\($1)" },
    ]
    for change in changes {
      let folder = Folder()
      let definitions = ["caf\u{e9}", "cafe\u{301}"].map { text in changed { change(&$0, text) } }
      #expect(!definitions[1].isLike(definitions[0].definition))
      let cache = try await folder.define([definitions[0]])
      _ = try await cache.mirror(paired(people))
      await cache.close()
      let next = try await folder.define([definitions[1]])
      #expect(try await next.facts().waiting == ["character"])
      _ = try await next.begin(at: noon)
      #expect(try await next.known("character", addresses: [address(1), address(2)]).isEmpty)
      await next.close()
    }
    func child(_ text: String) -> Resource {
      changed { $0.each = Each(of: "p", changed: ["n"], empty: [.init("n", .equal(.text(text)))]) }
    }
    #expect(!child("cafe\u{301}").hasListRules(of: child("caf\u{e9}").definition))
    #expect(child("caf\u{e9}").hasListRules(of: child("caf\u{e9}").definition))
  }

  @Test(
    "8: a sync of the same records by another definition adds and removes none",
    arguments: [
      changed {
        $0.columns.removeAll { $0.name != "id" }
        $0.search = []
      },
      changed { $0.lists = [] },
      changed {
        $0.columns.append(.init("origin", at: at("origin"), .json))
        $0.columns.append(.init("moons", at: at("home", "moons"), .json))
        $0.columns.append(.init("first", at: at("episode", "0")))
        $0.lists.append(.init(table: "roles", at: at("roles"), columns: [.init("as", at: at("as"))]))
      },
      changed {
        $0.columns[1].name = "called"
        $0.search = ["called", "status"]
      },
      changed {
        $0.table = "people"
        $0.lists[0].table = "seen"
      },
      changed { $0.search = [] },
      changed { $0.maxRemoval = 7 },
    ])
  func sameRecords(definition: Resource) async throws {
    let people = [1, 2].map {
      person($0, more: #","home":{"moons":1.50e2},"é\u0301":"\u00e9\/","roles":[{"as":"x"},{"as":"y"}]"#)
    }
    await (try folder.mirrored([people])).close()
    let before = try feed()
    let report = try await folder.redefine(definition, pages: [people])
    #expect(report.outcome == .published && report.added + report.removed == 0)
    #expect(try folder.ask("SELECT DISTINCT first_sync FROM \(definition.table)") == ["1"])
    // And back again.
    let last = try await folder.redefine(.character, pages: [people])
    #expect(last.outcome == .published && last.added + last.removed == 0)
    #expect(try await folder.redefine(.character, pages: [people]).outcome == .unchanged)
    #expect(try feed() == before)
  }

  @Test("9: a record that changes elsewhere too has each order of its members in its row of changes")
  func orderBesideAChange() async throws {
    let cache = try await folder.mirrored([[person(1, more: #","x":{"z":1,"a":2}"#)]])
    let report = try await cache.mirror([[person(1, mark: "!", more: #","x":{"a":2,"z":1}"#)]])
    #expect(report.changed == 1)
    #expect(
      try folder.ask("SELECT before -> 'extra' || ' ' || (after -> 'extra') FROM changes") == [
        #"{"x":{"z":1,"a":2}} {"x":{"a":2,"z":1}}"#
      ])
    await cache.close()
  }

  @Test("56: another program's views survive another definition, also a view of a removed table")
  func views() async throws {
    await (try folder.mirrored([someRanked])).close()
    let database = try Database(path: folder.cache, access: .writer)
    try database.keepLog()
    try database.execute(
      "CREATE VIEW mine AS SELECT id, name FROM characters; CREATE VIEW lost AS SELECT x FROM nowhere")
    database.close()
    _ = try await folder.redefine(ranked, pages: [someRanked])
    _ = try await folder.redefine(.character, pages: [someRanked])
    #expect(try folder.ask("SELECT id || name FROM mine ORDER BY 1") == ["1Name 1", "2Name 2", "3Name 3"])
  }

  @Test("56: two resources exchange their tables, and one takes the table of a removed resource")
  func swapped() async throws {
    func named(_ name: String, table: String) -> Resource {
      Resource(
        name: name, path: "/\(name)", records: at("results"), table: table, search: ["name"],
        columns: [
          .init("id", at: at("id"), .integer), .init("name", at: at("name")),
        ])
    }
    // A resource may have the name of a temporary table.
    let first = [named("a", table: "answers"), named("b", table: "missing"), named("c", table: "came")]
    let cache = try await folder.define(first)
    let record = try await cache.begin(at: noon)
    for resource in first {
      try await Pull(cache: cache).pages(resource, pages: [[#"{"id":1,"name":"\#(resource.name)"}"#]])
    }
    _ = try await cache.compare()
    _ = try await cache.publish(record)
    try await folder.expectSound(first, closing: cache)
    let second = [named("a", table: "MISSING"), named("b", table: "came")]
    let next = try await folder.define(second)
    #expect(try folder.ask("SELECT name FROM answers UNION ALL SELECT name FROM missing") == ["a", "b"])
    let last = try await next.begin(at: noon)
    for resource in second {
      try await Pull(cache: next).pages(resource, pages: [[#"{"id":1,"name":"\#(resource.name)"}"#]])
    }
    _ = try await next.compare()
    _ = try await next.publish(last)
    try await folder.expectSound(second, closing: next)
    #expect(try folder.ask(#"SELECT name || "table" FROM resources ORDER BY 1"#) == ["aMISSING", "bcame"])
    #expect(try folder.ask("SELECT name FROM missing UNION ALL SELECT name FROM came") == ["a", "b"])
    #expect(try folder.ask("SELECT rowid FROM missing_fts WHERE missing_fts MATCH 'a'") == ["1"])
    #expect(
      try folder.ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'answers%' OR name LIKE 'cache_old%'") == ["0"]
    )
    #expect(try folder.ask("SELECT count(*) FROM removed") == ["0"])
  }

  @Test("56: an added and a removed resource stay unchanged until a sync publishes, also beside a changed one")
  func comesAndGoes() async throws {
    let cache = try await folder.define([.character, issue])
    let record = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(.character, pages: [people])
    try await Pull(cache: cache).pages(issue, pages: [[#"{"node":"a","title":"Bug"}"#]])
    _ = try await cache.compare()
    _ = try await cache.publish(record)
    await cache.close()
    let next = try await folder.define([ranked, .location])
    #expect(try folder.ask("SELECT name FROM resources ORDER BY 1") == ["character", "issue"])
    #expect(try folder.ask("SELECT records || (SELECT count(*) FROM removed) FROM cache_info") == ["40"])
    let before = try feed()
    let second = try await next.begin(at: noon)
    try await Pull(cache: next).pages(ranked, pages: [people])
    try await Pull(cache: next).pages(.location, pages: [[]])
    _ = try await next.compare()
    #expect(try await next.publish(second).outcome == .published)
    #expect(try folder.ask("SELECT name FROM resources ORDER BY 1") == ["character", "location"])
    #expect(try folder.ask("SELECT records FROM cache_info") == ["3"])
    #expect(try feed() != before)
    try await folder.expectSound([ranked, .location], closing: next)
  }

  @Test("56: each record is in changes if its document has other members, also if no value differs")
  func renamed() async throws {
    await (try folder.mirrored([people])).close()
    let called = changed {
      $0.columns[1].name = "called"
      $0.search = []
    }
    #expect(try await folder.redefine(called, pages: [people]).changed == 3)
    let names = "SELECT (before ->> '$.name') || '=' || (after ->> '$.called') FROM changes ORDER BY record_id"
    #expect(try folder.ask(names) == ["Name 1=Name 1", "Name 2=Name 2", "Name 3=Name 3"])
    let elsewhere = changed {
      $0.columns[1].name = "called"
      $0.search = []
      $0.path = "/people"
    }
    #expect(try await folder.redefine(elsewhere, pages: [people]).changed == 0)
  }

  @Test("56: a definition that was changed and restored before a sync has nothing to transfer")
  func restored() async throws {
    await (try folder.mirrored(paired(people))).close()
    for definition in [ranked, changed { $0.table = "people" }] { await (try folder.define([definition])).close() }
    let next = try await folder.define()
    #expect(try await next.facts().waiting.isEmpty)
    #expect(try await next.mirror([nil, nil]).outcome == .unchanged)
    await next.close()
  }
}
