import RosterModel
import Testing

@testable import RosterCache

struct RedefinitionTests {
  let folder = Folder()

  private func feed() throws -> String { try #require(try folder.ask("SELECT feed FROM cache_info").first) }

  private let people = someRanked

  @Test("C6.1, C6.3, C6.5: columns are filled from `extra` and go back to it; another feed has the next sync's changes")
  func columns() async throws {
    let cache = try await folder.mirrored(paired(people))
    let before = try feed()
    await cache.close()
    try await folder.redefine(ranked)
    #expect(
      try folder.ask("SELECT rank || extra FROM characters WHERE id = 1") == [
        #"7{"gender":"unknown","home":{"moons":1.50e2}}"#
      ])
    #expect(try folder.ask("SELECT extra FROM characters WHERE id = 2") == [#"{"gender":"unknown"}"#])
    #expect(try folder.ask("SELECT name FROM pragma_table_info('characters') WHERE name = 'gender'").isEmpty)
    #expect(try folder.ask("SELECT url FROM character_episodes WHERE character_id = 2") == ["e/1", "e/2"])
    #expect(try folder.ask("SELECT rowid FROM characters_fts WHERE characters_fts MATCH 'name'").count == 3)
    #expect(try folder.ask("SELECT DISTINCT first_sync || changed_sync FROM characters") == ["11"])
    #expect(try folder.ask("SELECT definition ->> '$.columns.rank.type' FROM resources") == ["integer"])
    #expect(try folder.ask("SELECT snapshot || ' ' || records FROM cache_info") == ["1 3"])
    let after = try feed()
    #expect(after != before)
    // The same one once more is the same one.
    let next = try await folder.define([ranked])
    #expect(try feed() == after)
    _ = try await next.begin(at: noon)
    #expect(try await next.known("character", addresses: [address(1), address(2)]).isEmpty)
    let report = try await next.mirror(ranked, pages: paired([people[0], person(2, more: #","rank":9"#)]))
    #expect([report.added, report.changed, report.removed] == [0, 1, 1])
    #expect(try folder.ask("SELECT record_id || kind FROM changes ORDER BY id") == ["2changed", "3removed"])
    #expect(
      try folder.ask("SELECT json_type(before, '$.rank') || (after ->> '$.rank') FROM changes WHERE id = 1") == [
        "null9"
      ])
    #expect(try feed() == after)
    try await folder.expectSound([ranked], closing: next)
  }

  @Test("C6.1, C6.4, E3.2: a definition that differs only in Unicode normalization is another one")
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
      #expect(!definitions[1].hasFeed(of: definitions[0].definition))
      let cache = try await folder.define([definitions[0]])
      _ = try await cache.mirror(paired(people))
      await cache.close()
      let before = try folder.ask("SELECT feed FROM cache_info")
      let next = try await folder.define([definitions[1]])
      #expect(try folder.ask("SELECT feed FROM cache_info") != before)
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
    "C6.2, C6.5: a sync of the same records by another definition finds nothing new",
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
    let cache = try await folder.mirrored([people])
    let before = try feed()
    await cache.close()
    try await folder.redefine(definition)
    #expect(try feed() != before)
    let next = try await folder.define([definition])
    let report = try await next.mirror(definition, pages: [people])
    #expect(report.outcome == .unchanged && report.changed + report.added + report.removed == 0)
    try await folder.expectSound([definition], closing: next)
    // And back again.
    try await folder.redefine(.character)
    let last = try await folder.define()
    #expect(try await last.mirror([people]).outcome == .unchanged)
    try await folder.expectSound(closing: last)
  }

  @Test("C6.3, P5.4: a column that is moved back into an object is no change, whatever the order of its members")
  func orderOfMembers() async throws {
    let people = [person(1, more: #","home":{"moons":[{"b":1,"a":2}],"area":3,"name":"x"}"#)]
    let definitions = [
      changed { $0.columns.append(.init("area", at: at("home", "area"), .integer)) },
      .character,
      changed { $0.columns.append(.init("moons", at: at("home", "moons"), .json)) },
      changed { $0.columns.append(.init("home", at: at("home"), .json)) },
    ]
    var cache = try await folder.define([definitions[0]])
    _ = try await cache.mirror(definitions[0], pages: [people])
    for definition in definitions.dropFirst() {
      await cache.close()
      try await folder.redefine(definition)
      cache = try await folder.define([definition])
      let report = try await cache.mirror(definition, pages: [people])
      #expect(report.outcome == .unchanged && report.changed == 0)
    }
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    await cache.close()
  }

  @Test("P5.4: a record that changes elsewhere too has each order of its members in its row of changes")
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

  @Test("C6.3: a value that a new type does not take is '' or NULL until the next sync; a whole number stays one")
  func types() async throws {
    func retyped(_ types: [(String, Resource.ColumnType)], key: Bool = true) -> Resource {
      Resource(
        name: "thing", path: "/t", records: at("results"),
        columns: [.init("id", at: at("id"), .integer)]
          + types.map { .init($0.0, at: at($0.0), $0.1) })
    }
    let first = retyped([("a", .text), ("b", .integer), ("c", .real), ("d", .boolean), ("e", .json), ("f", .real)])
    let cache = try await folder.define([first])
    _ = try await cache.mirror(
      first, pages: [[#"{"id":1,"a":"7","b":7,"c":7.0,"d":true,"e":{"x":1},"f":0.5,"g":"text","h":{"i":1}}"#]])
    await cache.close()
    let second = retyped([
      ("a", .integer), ("b", .text), ("c", .integer), ("d", .integer), ("e", .text), ("f", .integer), ("g", .real),
      ("h", .boolean),
    ])
    try await folder.redefine(second)
    #expect(
      try folder.ask(
        "SELECT json_array(id, a, b, c, d, e, f, g, h, extra) FROM thing") == [
          #"[1,null,"",7,null,"",null,null,null,null]"#
        ])
    await (try folder.define([retyped([("c", .real), ("a", .json), ("h", .text)])])).close()
    #expect(
      try folder.ask("SELECT json_array(id, c, a, h, extra) FROM thing") == [
        #"[1,7.0,null,"",\#("\"{\\\"b\\\":\\\"\\\",\\\"e\\\":\\\"\\\"}\"")]"#
      ])
  }

  @Test("C6.2: a record without a key by the new definition keeps its old key until the next sync")
  func keyless() async throws {
    func thing(_ key: String, type: Resource.ColumnType) -> Resource {
      Resource(
        name: "thing", path: "/t", records: at("results"), key: at(key),
        columns: [
          .init(key, at: at(key), type), .init("name", at: at("name")),
        ])
    }
    let number = thing("id", type: .integer)
    await (try folder.mirrored(number, pages: [[#"{"id":7,"name":"A"}"#, #"{"id":8,"name":"B","slug":"b"}"#]])).close()
    try await folder.redefine(thing("id", type: .text))
    #expect(try folder.ask("SELECT id || name FROM thing ORDER BY 1") == ["7A", "8B"])
    try await folder.redefine(thing("slug", type: .text))
    #expect(try folder.ask("SELECT slug || name FROM thing ORDER BY 1") == ["7A", "bB"])
    #expect(try folder.ask("SELECT records FROM cache_info") == ["2"])
    try await folder.redefine(thing("rank", type: .integer))
    // `b` can be no integer.
    #expect(try folder.ask("SELECT rank || name FROM thing") == ["7A"])
    let text = thing("id", type: .text)
    let next = try await folder.define([text])
    let report = try await next.mirror(text, pages: [[#"{"id":"7","name":"A"}"#, #"{"id":"x","name":"X"}"#]])
    #expect(report.outcome == .published && report.records == 2)
    try await folder.expectSound([text], closing: next)
  }

  @Test("C6.2: another program's views survive another definition, also a view of a removed table")
  func views() async throws {
    await (try folder.mirrored([someRanked])).close()
    let database = try Database(path: folder.cache, access: .writer)
    try database.keepLog()
    try database.execute(
      "CREATE VIEW mine AS SELECT id, name FROM characters; CREATE VIEW lost AS SELECT x FROM nowhere")
    database.close()
    try await folder.redefine(ranked)
    try await folder.redefine(.character)
    #expect(try folder.ask("SELECT id || name FROM mine ORDER BY 1") == ["1Name 1", "2Name 2", "3Name 3"])
  }

  @Test("C6.2, C6.3: a value that blocks a new place is left out, so that no record is lost")
  func ways() async throws {
    await (try folder.mirrored([[person(1, more: #","rank":7,"list":["x"],"mixed":[{"as":"x"},7,{"as":8}]"#)]])).close()
    let other = changed {
      $0.columns = [
        $0.columns[0], .init("deep", at: at("name", "first")),
        .init("deeper", at: at("rank", "a", "b"), .json),
        .init("named", at: at("list", "name")),
      ]
      $0.search = []
      $0.lists = [
        .init(table: "l", at: at("url"), columns: [.init("u", at: JSONPointer())]),
        .init(table: "m", at: at("mixed"), columns: [.init("as", at: at("as"))]),
      ]
    }
    try await folder.redefine(other)
    #expect(try folder.ask("SELECT id || deep || ifnull(deeper, '-') || named FROM characters") == ["1-"])
    #expect(try folder.ask("SELECT count(*) FROM l") == ["0"])
    #expect(try folder.ask("SELECT position || \"as\" FROM m ORDER BY 1") == ["0x", "1", "2"])
    #expect(try folder.ask("SELECT extra ->> '$.species' FROM characters") == ["Human"])
  }

  @Test("C6.2, C6.6: two resources exchange their tables, and one takes the table of a removed resource")
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
    let record = try await cache.begin(at: noon).record
    for resource in first {
      try await Pull(cache: cache).pages(resource, pages: [[#"{"id":1,"name":"\#(resource.name)"}"#]])
    }
    _ = try await cache.compare()
    _ = try await cache.publish(record)
    try await folder.expectSound(first, closing: cache)
    let second = [named("a", table: "MISSING"), named("b", table: "came")]
    await (try folder.define(second)).close()
    try folder.expectSound(second)
    #expect(try folder.ask(#"SELECT name || "table" FROM resources ORDER BY 1"#) == ["aMISSING", "bcame"])
    #expect(try folder.ask("SELECT name FROM missing UNION ALL SELECT name FROM came") == ["a", "b"])
    #expect(try folder.ask("SELECT rowid FROM missing_fts WHERE missing_fts MATCH 'a'") == ["1"])
    #expect(
      try folder.ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'answers%' OR name LIKE 'cache_old%'") == ["0"]
    )
    #expect(try folder.ask("SELECT count(*) FROM removed") == ["0"])
  }

  @Test("C6.6: an added and a removed resource stay unchanged until a sync publishes, also beside a changed one")
  func comesAndGoes() async throws {
    let cache = try await folder.define([.character, issue])
    let record = try await cache.begin(at: noon).record
    try await Pull(cache: cache).pages(.character, pages: [people])
    try await Pull(cache: cache).pages(issue, pages: [[#"{"node":"a","title":"Bug"}"#]])
    _ = try await cache.compare()
    _ = try await cache.publish(record)
    await cache.close()
    let next = try await folder.define([ranked, .location])
    #expect(try folder.ask("SELECT name FROM resources ORDER BY 1") == ["character", "issue"])
    #expect(try folder.ask("SELECT records || (SELECT count(*) FROM removed) FROM cache_info") == ["40"])
    let before = try feed()
    let second = try await next.begin(at: noon).record
    try await Pull(cache: next).pages(ranked, pages: [people])
    try await Pull(cache: next).pages(.location, pages: [[]])
    _ = try await next.compare()
    #expect(try await next.publish(second).outcome == .published)
    #expect(try folder.ask("SELECT name FROM resources ORDER BY 1") == ["character", "location"])
    #expect(try folder.ask("SELECT records FROM cache_info") == ["3"])
    #expect(try feed() != before)
    try await folder.expectSound([ranked, .location], closing: next)
  }

  @Test("C6.2, C6.3: after two other definitions without a sync, and back, everything is in its old place")
  func twice() async throws {
    let cache = try await folder.mirrored(paired(people))
    let rows = try folder.ask("SELECT json_array(id, name, gender, origin_url, extra) FROM characters")
    await cache.close()
    try await folder.redefine(ranked)
    try await folder.redefine(
      changed {
        $0.columns.removeAll { $0.name.hasPrefix("origin") }
        $0.search.removeAll { $0.hasPrefix("origin") }
      })
    try await folder.redefine(.character)
    #expect(try folder.ask("SELECT json_array(id, name, gender, origin_url, extra) FROM characters") == rows)
    let next = try await folder.define()
    #expect(try await next.mirror(paired(people)).outcome == .unchanged)
    await next.close()
  }
}
