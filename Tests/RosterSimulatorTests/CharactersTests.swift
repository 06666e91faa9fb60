import RosterCore
import RosterSimulator
import Testing

@Suite struct CharactersTests {
  private let roster = Characters.made(Characters.usual)

  @Test("The characters are made in the same way each time, with ids 1…826")
  func deterministic() {
    #expect(roster == Characters.made(Characters.usual))
    #expect(roster.map(\.id) == Array(1...826))
    #expect(Characters.made(0).isEmpty)
  }

  @Test("The characters have empty fields, duplicate names, letters beyond ASCII, quotes and many episodes")
  func variety() {
    #expect(roster.contains { $0.type.isEmpty } && roster.contains { !$0.type.isEmpty })
    #expect(roster.contains { $0.origin.url.isEmpty })
    #expect(Set(roster.map(\.name)).count < roster.count && Set(roster.map(\.name)).count > 500)
    #expect(roster.contains { $0.name.utf8.contains { $0 > 127 } })
    #expect(roster.contains { $0.name.contains("\"") })
    #expect(roster.allSatisfy { !$0.episodes.isEmpty })
    #expect(roster.contains { $0.episodes.count > 20 })
  }

  @Test("A mark changes every text, and the next one replaces it")
  func marks() {
    let second = roster[0].marked(2)
    let texts =
      [second.name, second.status, second.species, second.type, second.gender, second.image, second.url]
      + [second.created, second.origin.name, second.origin.url, second.location.name, second.location.url]
      + second.episodes
    #expect(texts.allSatisfy { $0.hasSuffix(" ·v2") })
    #expect(second.marked(3) == roster[0].marked(3))
    #expect(second.id == 1)
  }
}
