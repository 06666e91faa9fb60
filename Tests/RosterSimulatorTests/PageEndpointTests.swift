import RosterCore
import RosterSimulator
import Testing

@Suite struct PageEndpointTests {
  @Test("All 42 pages together are the 826 characters, in the shape of the public API")
  func allPages() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      var records: [PageJSON.Record] = []
      for number in 1...42 {
        let page = try await simulator.page(number).json(PageJSON.self)
        #expect(page.info.count == 826 && page.info.pages == 42)
        #expect(page.info.next == (number == 42 ? nil : "\(Characters.publicURL)/character?page=\(number + 1)"))
        #expect(page.info.prev == (number == 1 ? nil : "\(Characters.publicURL)/character?page=\(number - 1)"))
        records += page.results
      }
      #expect(records == simulator.characters.map { PageJSON.Record($0) })
      #expect(simulator.counts.requests(ofPage: 42).map(\.ordinal) == [42])
      #expect(simulator.counts.connections == 1)
    }
  }

  @Test("An invalid page is page 1, and a page after the end is missing")
  func oddPages() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      let first = try await simulator.page(1).body
      for query in ["", "?page=0", "?page=-3", "?page=x"] {
        #expect(try await simulator.get("/character\(query)").body == first)
      }
      let beyond = try await simulator.page(43)
      #expect(beyond.status == 404 && beyond.text == #"{"error":"There is nothing here"}"#)
      #expect(try await simulator.page(Int.max).status == 404)
      #expect(try await simulator.get("/elsewhere").status == 404)
      #expect(simulator.counts.strays == 1)
    }
  }

  @Test("By id there is an object for one, a list of the existing ones for several, and 404 for a missing one")
  func byID() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      let one = try await simulator.get("/character/7").json(PageJSON.Record.self)
      #expect(one == PageJSON.Record(simulator.characters[6]))
      let some = try await simulator.get("/character/9,7,9999").json([PageJSON.Record].self)
      #expect(Set(some.map(\.id)) == [7, 9])
      #expect(try await simulator.get("/character/9998,9999").text == "[]")
      let none = try await simulator.get("/character/9999")
      #expect(none.status == 404 && none.text == #"{"error":"Character not found"}"#)
      #expect(try await simulator.get("/character/seven").status == 500)
      #expect(simulator.counts.byIDRequests.count == 5)
    }
  }

  @Test("Control characters, quotes and backslashes survive")
  func escapes() async throws {
    let odd = "a\"b\\c\u{1}\n\u{7f}é𝄞"
    try await withSimulator(Scenario(characters: [Character(id: 1, name: odd)])) {
      (simulator: Simulator) async throws in
      #expect(try await simulator.page(1).json(PageJSON.self).results[0].name == odd)
    }
  }

  @Test("Without characters page 1 is 404, as upstream's empty collection is")
  func empty() async throws {
    try await withSimulator(Scenario(characters: [])) { (simulator: Simulator) async throws in
      #expect(try await simulator.page(1).status == 404)
    }
  }
}
