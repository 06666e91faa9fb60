import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

struct CacheReaderTests {
  let folder = Folder()
  private struct Shape: Decodable {
    struct Entry: Decodable {
      var id: Int64
      var extra: [String: Int]?
      var firstSync: Int64
      var episodes: [String]

      enum CodingKeys: String, CodingKey {
        case id, extra, episodes
        case firstSync = "first_sync"
      }
    }
    var resource: String
    var page: Int
    var pages: Int
    var total: Int
    var records: [Entry]
  }

  private func list(search: String? = nil, page: Int = 1) throws -> Shape {
    let listing = try CacheReader(path: folder.cache).list("character", search: search, page: page)
    return try JSONDecoder().decode(Shape.self, from: Data(listing.json.utf8))
  }

  private func found(_ words: String) throws -> [Int64] { try list(search: words).records.map(\.id) }

  @Test("A list has 20 records a page, by record id, and its JSON is the documented one")
  func pages() async throws {
    let cache = try await folder.define()
    var records = people(1...45)
    records[40] = person(41, more: #","rating":7"#)
    _ = try await cache.mirror(paired(records))
    let third = try list(page: 3)
    #expect(third.resource == "character" && third.total == 45 && third.pages == 3 && third.page == 3)
    #expect(third.records.map(\.id) == Array(41...45))
    #expect(third.records[0].episodes == ["e/1", "e/2"] && third.records[0].firstSync == 1)
    #expect(third.records[0].extra == ["rating": 7] && third.records[1].extra == nil)
    #expect(try list(page: 4).records.isEmpty && list(page: .max).records.isEmpty)
    let first = try CacheReader(path: folder.cache).list("character")
    #expect(first.records[0].hasPrefix(#"{"id":1,"name":"Name 1","status":"Alive","species":"Human","type":"","#))
    #expect(first.records[0].hasSuffix(#""extra":null,"first_sync":1,"changed_sync":1,"episodes":["e/1","e/2"]}"#))
    await cache.close()
  }

  @Test(
    """
    A search finds words and their beginnings in every searched column, regardless of case, diacritics, punctuation; \
    a text without a word finds nothing
    """)
  func search() async throws {
    let cache = try await folder.define()
    func record(_ id: Int64, name: String, type: String = "", origin: String = "Earth (C-137)", place: String)
      -> String
    {
      #"{"id":\#(id),"name":"\#(name)","species":"Human","type":"\#(type)","origin":{"name":"\#(origin)"},"#
        + #""location":{"name":"\#(place)"},"episode":[]}"#
    }
    _ = try await cache.mirror([
      [
        record(1, name: "Rick Sánchez", place: "Citadel"),
        record(2, name: "Morty Smith", origin: "unknown", place: "Citadel"),
        record(3, name: "Who", type: #"Parasite \"OR\" NEAR("#, place: "Citadel"),
        record(4, name: "Who", place: "Dorian 5"),
      ]
    ])
    for (words, ids) in [
      ("rick", [1]), ("SANCH ric", [1]), ("C-137", [1, 3, 4]), ("137 c", [1, 3, 4]), ("anchez", []), ("dorian", [4]),
      ("rick morty", []), ("\"or\" near(", [3]), ("*", []), ("_", []), ("😀", []), ("", [1, 2, 3, 4]),
      (" ", [1, 2, 3, 4]), ("AND", []),
      ("human", [1, 2, 3, 4]),
    ] as [(String, [Int64])] {
      #expect(try found(words) == ids, "\(words)")
    }
    await cache.close()
  }

  @Test(
    "Case and diacritics do not matter for list --search, in Greek and Cyrillic too",
    arguments: [
      ("ελλαδα", [1, 2]), ("Ελλάδα", [1, 2]), ("ΕΛΛΑΔΑ", [1, 2]), ("ελλ", [1, 2]), ("ζωη", [3]), ("ΖΩΉ rick", [3]),
      ("елка", [4, 5]), ("Ёлка", [4, 5]), ("иод", [4]), ("ελλο", []), ("sanchez", [3]),
    ])
  func diacritics(words: String, ids: [Int64]) async throws {
    let cache = try await folder.define()
    let names = ["Ελλάδα", "ΕΛΛΑΔΑ", "Ζωή Rick Sánchez", "ёлка Йод", "ЕЛКА"]
    _ = try await cache.mirror([
      names.enumerated().map { #"{"id":\#($0 + 1),"name":"\#($1)","origin":{},"location":{},"episode":[]}"# }
    ])
    #expect(try found(words) == ids)
    await cache.close()
  }

  @Test("Words are split as the index splits them")
  func words() {
    #expect(SearchWords.query("C-137, Ra\u{301}z") == "\"137\"* AND \"C\"* AND \"Ra\u{301}z\"*")
    #expect(SearchWords.query("a A a") == "\"A\"* AND \"a\"*")
    #expect(SearchWords.query(" -\" \u{301} ") == nil)
  }

  @Test("One record comes with its history, also after the daemon stopped, numbers as upstream wrote them")
  func history() async throws {
    let cache = try await folder.mirrored([[person(1)]])
    _ = try await cache.mirror([[person(1, mark: "!", more: #","deep":{"n":1.10}"#)]])
    await cache.close()
    let reader = try CacheReader(path: folder.cache)
    let found = try reader.show("character", key: "1")
    #expect(found.changes.map(\.kind) == [.changed] && found.telling.map(\.name).prefix(2) == ["id", "name"])
    #expect(found.json.hasPrefix(#"{"resource":"character","record":{"id":1,"name":"Name 1!","#))
    #expect(found.json.contains(#""changed_sync":2,"episodes":["e/1","e/2"]},"changes":[{"id":1,"sync_id":2,"#))
    #expect(
      found.json.contains(
        #""resource":"character","record_id":1,"key":1,"kind":"changed","at":""# + noon.rfc3339
          + #"","before":{"id":1,"name":"Name 1","#))
    #expect(found.json.contains(#""extra":{"deep":{"n":1.10}}"#))
    #expect(try reader.recent(limit: 1).map(\.id) == [2])
  }

  @Test("A removed record differs from an unknown one, and an empty cache from a snapshot")
  func absences() async throws {
    let cache = try await folder.define()
    let reader = try CacheReader(path: folder.cache)
    #expect(try !reader.hasSnapshot() && !reader.list("character").hasSnapshot)
    _ = try await cache.mirror([people(1...10)])
    _ = try await cache.mirror([people(1...9)])
    #expect(try reader.hasSnapshot() && reader.list("character").hasSnapshot)
    let gone = try reader.show("character", key: "10")
    #expect(gone.record == nil && gone.removal?.sync == 2 && gone.changes.map(\.kind) == [.removed])
    #expect(gone.json.hasPrefix(#"{"resource":"character","record":null,"changes":[{"id":1,"#))
    #expect(try reader.show("character", key: "9").removal == nil)
    let never = try reader.show("character", key: "11")
    #expect(never.record == nil && never.removal == nil && never.changes.isEmpty)
    await cache.close()
  }

  private func ticket(_ node: String, title: String, more: String = "") -> String {
    #"{"node":"\#(node)","title":"\#(title)","number":7,"score":1.5,"locked":true,"reactions":{"+1":1.10},"#
      + #""labels":[{"name":"bug","color":"f00","id":3}],"flags":[true,false]\#(more)}"#
  }

  @Test("A resource with text keys, all types and both kinds of lists is read by its definition")
  func anyResource() async throws {
    let cache = try await folder.mirrored(issue, pages: [[ticket("a/1", title: "One", more: #","who":"me""#)]])
    let reader = try CacheReader(path: folder.cache)
    let record = #"""
      {"node":"a/1","title":"One","number":7,"score":1.5,"locked":true,"closed_at":null,"reactions":{"+1":1.10},\#
      "extra":{"who":"me"},"first_sync":1,"changed_sync":1,\#
      "labels":[{"name":"bug","color":"f00","extra":{"id":3}}],"flags":[true,false]}
      """#
    let listing = try reader.list("issue", search: "on")
    #expect(listing.json == #"{"resource":"issue","page":1,"pages":1,"total":1,"records":[\#(record)]}"#)
    #expect(listing.telling.map(\.name) == ["node", "title"])
    #expect(try reader.show("issue", key: "a/1").json == #"{"resource":"issue","record":\#(record),"changes":[]}"#)
    await cache.close()
  }

  @Test("A text key that was removed and returned has its whole history, though its record id is another")
  func comesBack() async throws {
    let cache = try await folder.define([issue])
    let (one, two) = (ticket("1", title: "One"), ticket("2", title: "Two"))
    for page in [[one, two], [one], [one]] { _ = try await cache.mirror(issue, pages: [page]) }
    let reader = try CacheReader(path: folder.cache)
    #expect(try reader.show("issue", key: "2").removal?.sync == 3)
    _ = try await cache.mirror(issue, pages: [[one, two]])
    _ = try await cache.mirror(issue, pages: [[one, ticket("2", title: "Zwei")]])
    let found = try reader.show("issue", key: "2")
    #expect(found.record?.contains("Zwei") == true && found.removal == nil)
    #expect(found.changes.map(\.kind) == [.removed, .added, .changed])
    #expect(Set(found.changes.map(\.record)).count == 2)
    #expect(try reader.show("issue", key: "1").changes.isEmpty)
    await cache.close()
  }

  @Test("An unknown resource is 1; a search without `search`, or a text where keys are numbers, is 64")
  func refusals() async throws {
    var mute = Resource.location
    mute.search = []
    let cache = try await folder.define([.character, mute])
    let reader = try CacheReader(path: folder.cache)
    #expect(
      try reader.resources().json == """
        {"resources":[{"name":"character","table":"characters","records":0},\
        {"name":"location","table":"locations","records":0}]}
        """)
    let unknown = #expect(throws: Failure.self) { _ = try reader.list("chracter") }
    #expect(unknown?.kind.exitCode == 1 && unknown?.hint?.contains("character, location") == true)
    #expect(throws: Failure.self) { _ = try reader.show("chracter", key: "1") }
    #expect(try reader.list("location").total == 0)
    for words in ["x", ""] {
      let failure = #expect(throws: Failure.self) { _ = try reader.list("location", search: words) }
      #expect(failure?.kind == .usage && failure?.subject == "location")
    }
    for key in ["abc", "1.5", "9223372036854775808", ""] {
      let failure = #expect(throws: Failure.self) { _ = try reader.show("character", key: key) }
      #expect(failure?.kind == .usage, "\(key)")
    }
    await cache.close()
  }

  @Test("A reject has its resource, and its document as a value if that is JSON")
  func rejects() async throws {
    let cache = try await folder.define()
    #expect(try CacheReader(path: folder.cache).rejects().json == #"{"rejects":[]}"#)
    _ = try await cache.mirror([[person(1), #"{"id":2, "name":5,"n":1.10}"#]])
    let found = try CacheReader(path: folder.cache).rejects()
    #expect(found.hasSnapshot && found.records.map(\.position) == [1] && found.records.map(\.page) == [1])
    #expect(
      found.json.hasPrefix(
        #"{"rejects":[{"sync_id":1,"resource":"character","parent_id":0,"page":1,"position":1,"key":"2","reason":""#))
    #expect(found.json.hasSuffix(#"","document":{"id":2,"name":5,"n":1.10}}]}"#))
    await cache.close()
  }

  @Test("400 columns and lists are recorded in `changes`, and reals with all the digits that they need")
  func wide() async throws {
    let columns = (1...195).map { Resource.Column("c\($0)", at: at("c\($0)"), .real) }
    let wide = Resource(
      name: "wide", path: "/w", records: at("results"),
      columns: [.init("id", at: at("id"), .integer)] + columns,
      lists: [
        .init(table: "parts", at: at("parts"), columns: columns),
        .init(table: "reals", at: at("reals"), columns: [.init("real", at: JSONPointer(), .real)]),
      ])
    let cache = try await folder.define([wide])
    func record(_ real: String) -> String {
      #"{"id":1,"c1":\#(real),"c195":2,"parts":[{"c2":\#(real)}],"reals":[\#(real),1e300,5e-324]}"#
    }
    _ = try await cache.mirror(wide, pages: [[record("0.30000000000000004")]])
    #expect(try await cache.mirror(wide, pages: [[record("0.3")]]).changed == 1)
    let places = ["$.c1", "$.parts[0].c2", "$.reals[0]"].map { "before -> '\($0)' || ' ' || (after -> '\($0)')" }
    for place in places { #expect(try folder.ask("SELECT \(place) FROM changes") == ["0.30000000000000004 0.3"]) }
    #expect(try folder.ask("SELECT after -> '$.reals' FROM changes") == ["[0.3,1e+300,5e-324]"])
    let shown = try CacheReader(path: folder.cache).show("wide", key: "1").record
    #expect(shown?.contains(#""c1":0.3,"c2":null,"#) == true)
    await cache.close()
  }

  @Test("A reject is named by its key, also in a list or under a name with a quote")
  func rejectsByKey() async throws {
    var resource = issue
    resource.key = at("ids\"", "0")
    resource.columns[0].at = resource.key
    let cache = try await folder.define([resource])
    _ = try await cache.mirror(
      resource,
      pages: [[#"{"ids\"":["a","b"],"title":7}"#, #"{"ids\"":[12],"title":7}"#, #"{"ids\"":true,"title":7}"#, "[]"]])
    #expect(try CacheReader(path: folder.cache).rejected().map(\.name) == ["a", "12", "", ""])
    await cache.close()
  }

  @Test("The tables of a stored definition are those of the definition")
  func definitions() throws {
    var bare = issue
    bare.search = []
    bare.lists = []
    for resource in [.character, .location, .episode, issue, bare] {
      let (tables, stored) = (
        try ResourceTables(resource), try ResourceTables(name: resource.name, definition: resource.definition)
      )
      #expect(stored.create == tables.create && stored.jsonText() == tables.jsonText() && stored.key == tables.key)
    }
    #expect(try ResourceTables(bare).telling.map(\.name) == ["node", "title", "closed_at"])
    for text in ["", "{}", "[1]", issue.definition.replacing("\"integer\"", with: "\"number\"")] {
      #expect(throws: SQLiteError.self) { _ = try ResourceTables(name: "issue", definition: text) }
    }
  }

  @Test(
    "A cache that lacks a table is damaged, one of 0.1 or never finished is too old, one of another program is neither",
    arguments: [
      ("DROP TABLE cache_changes", "damaged"), ("DROP TABLE characters", "damaged"),
      ("DROP TABLE resources", "damaged"),
      ("UPDATE resources SET definition = '{}'", "damaged"), ("PRAGMA user_version = 0", "older"),
      ("PRAGMA user_version = 1", "older"), ("PRAGMA user_version = 6", "newer"), ("PRAGMA user_version = 3", "older"),
      ("PRAGMA application_id = 1", "another program"),
    ])
  func unfit(sql: String, words: String) async throws {
    let cache = try await folder.define()
    await cache.close()
    let writer = try Database(path: folder.cache, access: .writer)
    try writer.execute(sql)
    _ = try writer.checkpoint(.truncate)
    writer.close()
    let failure = #expect(throws: Failure.self) { _ = try CacheReader(path: folder.cache) }
    #expect(failure?.kind == .cannotWrite && failure?.cause.contains(words) == true, "\(String(describing: failure))")
    #expect(failure?.step == "read the cache" && failure?.hint != nil)
  }

  @Test("The error for a missing cache has a hint")
  func absent() {
    let failure = #expect(throws: Failure.self) { _ = try CacheReader(path: folder.cache) }
    #expect(failure?.kind == .cannotWrite && failure?.hint != nil)
  }
}
