import RosterCore
import RosterSimulator
import Testing

@Suite struct SideListsTests {
  private struct List: Decodable {
    struct Info: Decodable {
      var count: Int
      var pages: Int
    }

    struct Record: Decodable {
      var id: Int
      var name: String
      var url: String
      var residents: [String]?
      var characters: [String]?
    }

    var info: Info
    var results: [Record]
  }

  private func withLists(_ body: (Simulator) async throws -> Void) async throws {
    var scenario = Scenario()
    scenario.beside = SideLists(of: scenario.characters).answer
    try await withSimulator(scenario) { (simulator: Simulator) async throws in try await body(simulator) }
  }

  @Test(
    "Locations and episodes are listed as characters are, 20 a page", arguments: [("location", 126), ("episode", 51)])
  func pages(name: String, count: Int) async throws {
    try await withLists { simulator in
      let pages = (count + 19) / 20
      var records: [List.Record] = []
      for page in 1...pages {
        let list = try await simulator.get("/\(name)?page=\(page)").json(List.self)
        #expect(list.info.count == count && list.info.pages == pages)
        records += list.results
      }
      #expect(records.map(\.id) == Array(1...count) && Set(records.map(\.name)).count == count)
      #expect(try await simulator.get("/\(name)?page=\(pages + 1)").status == 404)
    }
  }

  @Test("An episode's list has its characters that speak, each with its lines")
  func appearances() async throws {
    struct Appearance: Decodable {
      var id: Int
      var name: String
      var lines: Int
    }
    try await withLists { simulator in
      let list = try await simulator.get("/episode/51/character").json([Appearance].self)
      let characters = simulator.characters.filter { $0.episodes.contains { $0.hasSuffix("/episode/51") } }
      let names = Dictionary(uniqueKeysWithValues: characters.map { (Int($0.id), $0.name) })
      #expect(!list.isEmpty && list.allSatisfy { $0.lines > 0 && names[$0.id] == $0.name })
      for missing in ["0", "52"] { #expect(try await simulator.get("/episode/\(missing)/character").status == 404) }
    }
  }

  @Test("Locations and episodes name the characters that name them")
  func fit() async throws {
    try await withLists { simulator in
      let characters = simulator.characters
      let place = try await simulator.get("/location/3").json(List.Record.self)
      #expect(place.residents == characters.filter { $0.location.url == place.url }.map(\.url))
      #expect(place.residents?.isEmpty == false)
      let episode = try await simulator.get("/episode/51").json(List.Record.self)
      #expect(episode.characters == characters.filter { $0.episodes.contains(episode.url) }.map(\.url))
      #expect(try await simulator.get("/episode/2,1,99").json([List.Record].self).map(\.id) == [1, 2])
      let none = try await simulator.get("/location/127")
      #expect(none.status == 404 && none.text == #"{"error":"Location not found"}"#)
    }
  }
}
