import FoundationEssentials
import RosterModel
import Testing

@testable import RosterCache

struct CacheReaderTests {
  let folder: Folder
  init() throws { folder = try Folder() }

  private func search(_ words: String) throws -> [Int64] {
    try CacheReader(path: folder.cache).characters(search: words).characters.map(\.character.id)
  }

  @Test("A list has 20 characters a page, by id, and its JSON is the contract's")
  func list() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged((1...45).map { character($0) }))
    let reader = try CacheReader(path: folder.cache)
    let third = try reader.characters(page: 3)
    #expect(third.total == 45 && third.pages == 3)
    #expect(third.characters.map(\.character) == (41...45).map { character($0) })
    #expect(try reader.characters(page: 4).characters.isEmpty)
    #expect(try reader.characters(page: .max).characters.isEmpty)
    struct Shape: Decodable {
      struct Entry: Decodable {
        var id: Int64
        var episodes: [String]
      }
      var page: Int
      var pages: Int
      var total: Int
      var characters: [Entry]
    }
    let shape = try JSONDecoder().decode(Shape.self, from: Data(third.json.utf8))
    #expect(shape.page == 3 && shape.total == 45 && shape.characters.first?.id == 41)
    #expect(shape.characters.first?.episodes == ["e/1", "e/2"])
    await cache.close()
  }

  @Test("A search finds words and their beginnings, case, diacritics and punctuation aside, in every indexed field")
  func search() async throws {
    let cache = try await folder.open()
    var characters = (1...4).map { character($0) }
    characters[0].name = "Rick Sánchez"
    characters[1].name = "Morty Smith"
    characters[1].origin.name = "unknown"
    characters[2].type = "Parasite \"OR\" NEAR("
    characters[3].location.name = "Dorian 5"
    _ = try await cache.sync(paged(characters))
    #expect(try search("rick") == [1])
    #expect(try search("SANCH ric") == [1])
    #expect(try search("C-137") == [1, 3, 4])
    #expect(try search("137 c") == [1, 3, 4])
    #expect(try search("anchez").isEmpty)
    #expect(try search("dorian") == [4])
    #expect(try search("rick morty").isEmpty)
    #expect(try search("\"or\" near(") == [3])
    #expect(try search("*") == [1, 2, 3, 4])
    #expect(try search("") == [1, 2, 3, 4])
    #expect(try search("AND").isEmpty)
    #expect(try CacheReader(path: folder.cache).characters(search: "human").total == 4)
    await cache.close()
  }

  @Test("Words are parted as the index parts them")
  func words() {
    #expect(SearchWords.query("C-137, Ra\u{301}z") == "\"137\"* \"C\"* \"Ra\u{301}z\"*")
    #expect(SearchWords.query("a A a") == "\"A\"* \"a\"*")
    #expect(SearchWords.query(" -\" \u{301} ") == nil)
  }

  @Test("One character comes with its history, also after the daemon stopped")
  func history() async throws {
    let cache = try await folder.open()
    _ = try await cache.sync(paged([character(1)]))
    _ = try await cache.sync(paged([character(1, "!")]))
    await cache.close()
    let reader = try CacheReader(path: folder.cache)
    let found = try #require(try reader.character(id: 1))
    #expect(found.character.firstSync == 1 && found.character.changedSync == 2)
    #expect(found.changes.map(\.kind) == [.changed])
    #expect(found.json.hasPrefix(#"{"character":{"id":1,"name":"Name 1!","#))
    #expect(found.json.contains(#""kind":"changed","at":""# + noon.rfc3339 + #"","before":{"id":1,"name":"Name 1","#))
    #expect(try reader.character(id: 2) == nil)
    #expect(try reader.recent(limit: 1).map(\.id) == [2])
  }

  @Test("Who is gone is told apart from who never was, an empty cache from a snapshot")
  func absences() async throws {
    let cache = try await folder.open()
    let reader = try CacheReader(path: folder.cache)
    #expect(try !reader.hasSnapshot() && !reader.characters().hasSnapshot)
    _ = try await cache.sync(paged((1...10).map { character($0) }))
    _ = try await cache.sync(paged((1...9).map { character($0) }))
    #expect(try reader.hasSnapshot() && reader.characters().hasSnapshot)
    #expect(try reader.removal(of: 10)?.sync == 2)
    #expect(try reader.removal(of: 9) == nil && reader.removal(of: 11) == nil)
    await cache.close()
  }

  @Test(
    "A cache that lacks a table is damaged, one that was never finished is too old, one of another program is neither",
    arguments: [
      ("DROP TABLE changes", "damaged"), ("PRAGMA user_version = 0", "older"), ("PRAGMA user_version = 2", "newer"),
      ("PRAGMA application_id = 1", "another program"),
    ])
  func unfit(sql: String, words: String) async throws {
    let cache = try await folder.open()
    await cache.close()
    let writer = try Database(path: folder.cache, access: .writer)
    try writer.execute(sql)
    try writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.close()
    let failure = #expect(throws: Failure.self) { _ = try CacheReader(path: folder.cache) }
    #expect(failure?.exit == .cannotWrite && failure?.cause.contains(words) == true, "\(String(describing: failure))")
    #expect(failure?.step == "read the cache" && failure?.hint != nil)
  }

  @Test("A cache that is not there is told with a hint")
  func absent() {
    let failure = #expect(throws: Failure.self) { _ = try CacheReader(path: folder.cache) }
    #expect(failure?.exit == .cannotWrite && failure?.hint != nil)
  }
}
