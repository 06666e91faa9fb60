import RosterCore
import RosterFetch
import RosterSimulator
import Testing

/// The part of the simulator that Tests/simulator.py drives.
@Suite(.timeLimit(.minutes(1))) struct TemplateListTests {
  private func scenario(_ change: (inout TemplateList) -> Void = { _ in }) -> Scenario {
    var list = TemplateList()
    list.record = RecordTemplate(#"{"id":<n>,"name":"<n+v+10>·v<v>","kind":"<n|even|odd|>","text":"<b>, <nv>"}"#)
    list.ids = Array(1...41)
    change(&list)
    var scenario = Scenario(characters: [])
    scenario.lists = ["/api/character": list, "/api/episode": TemplateList()]
    return scenario
  }

  private func record(_ id: Int, version: Int) -> String {
    let kind = ["even", "odd", ""][id % 3]
    return #"{"id":\#(id),"name":"\#(id + version + 10)·v\#(version)","kind":"\#(kind)","text":"<b>, <nv>"}"#
  }

  @Test("The records of a list are its template with their numbers, on pages and by key")
  func records() async throws {
    try await withSimulator(scenario { ($0.version, $0.replaced) = (7, [40: #"{"id":40}"#]) }) {
      (simulator: Simulator) async throws in
      let last = try await simulator.page(3).text
      #expect(last.hasPrefix(#"{"info":{"count":41,"pages":3,"next":null,"#))
      #expect(last.hasSuffix("[\(record(41, version: 7))]}"))
      #expect(try await simulator.page(2).text.contains(#"\#(record(39, version: 7)),{"id":40}]"#))
      #expect(try await simulator.page(4).status == 404)
      #expect(try await simulator.get("/character/2").text == record(2, version: 7))
      #expect(
        try await simulator.get("/character/2,99,3").text == "[\(record(2, version: 7)),\(record(3, version: 7))]")
      #expect(try await simulator.get("/character/99").status == 404)
      #expect(try await simulator.get("/location").status == 404)
    }
  }

  @Test("A list may have larger or smaller pages than the public API")
  func pageSize() async throws {
    try await withSimulator(scenario { $0.pageSize = 30 }) { (simulator: Simulator) async throws in
      #expect(try await simulator.page(1).text.contains(#"{"count":41,"pages":2,"next":""#))
      #expect(try await simulator.page(1).text.hasSuffix("\(record(30, version: 0))]}"))
      #expect(try await simulator.page(2).text.contains("[\(record(31, version: 0)),"))
      #expect(try await simulator.page(2).text.hasSuffix("\(record(41, version: 0))]}"))
      #expect(try await simulator.page(3).status == 404)
    }
  }

  @Test("A moving list has the next version at each request for its first page; a shifting one has other ids")
  func moves() async throws {
    try await withSimulator(scenario { ($0.moves, $0.shifts) = (true, true) }) { (simulator: Simulator) async throws in
      #expect(try await simulator.page(1).text.contains("[\(record(2, version: 1)),"))
      #expect(try await simulator.page(3).text.contains("[\(record(42, version: 1))]"))
      #expect(try await simulator.page(1).text.contains("[\(record(3, version: 2)),"))
      #expect(try await simulator.get("/character/2").status == 404)
      #expect(try await simulator.get("/character/43").text == record(43, version: 2))
      #expect(simulator.scenario.lists["/api/character"]?.version == 2)
    }
  }

  @Test("A gate lets a number of answers pass, those that wait and later ones")
  func passes() async throws {
    try await withSimulator(scenario()) { (simulator: Simulator) async throws in
      simulator.hold(.pages(2...9))
      async let second = simulator.page(2)
      try await simulator.waitFor { $0.held == 1 }
      simulator.pass(.pages(2...9), count: 2)
      _ = try await (second, simulator.page(3))
      async let third = simulator.page(3)
      try await simulator.waitFor { $0.held == 1 }
      simulator.release()
      #expect(try await third.status == 200)
      let counts = simulator.counts
      #expect(counts.pageStatuses == [200: 3] && counts.pageBytes > 0 && counts.openConnections > 0)
    }
  }

  @Test("A numbered refresh token is valid until a page was requested with the access token of a later one")
  func tokens() async throws {
    var scenario = scenario()
    scenario.numberedTokens = NumberedTokens()
    try await withSimulator(scenario) { (simulator: Simulator) async throws in
      #expect(try await simulator.page(1).status == 401)
      #expect(try await simulator.post("refreshToken=R0").text == #"{"token":"A1","refreshToken":"R1"}"#)
      #expect(try await simulator.post("grant_type=refresh_token&refresh_token=R0").status == 200)
      #expect(try await simulator.page(1, token: "A1").status == 401)
      #expect(try await simulator.page(1, token: "A2").status == 200)
      #expect(try await simulator.post("refreshToken=R1").status == 400)
      for unknown in ["R9", "first", "2"] { #expect(try await simulator.post("refreshToken=\(unknown)").status == 400) }
      #expect(simulator.scenario.numberedTokens?.reuses == 1)
      simulator.configure { $0.numberedTokens?.lifetime = 1 }
      #expect(try await simulator.page(1, token: "A2").status == 401)
      #expect(try await simulator.post("refreshToken=R2").status == 200)
      #expect(try await simulator.page(1, token: "A3").status == 200)
      #expect(simulator.counts.tokenStatuses == [200: 3, 400: 4])
    }
  }

  @Test("A request for a whole address, as a proxy gets it, is answered by its path")
  func proxied() async throws {
    try await withSimulator(scenario()) { (simulator: Simulator) async throws in
      let port = try #require(simulator.origin.split(separator: ":").last.flatMap { Int($0) })
      let proxy = ProxyServer(host: "127.0.0.1", port: port, setting: "upstream.proxy")
      let transport = HTTPTransport(.init(proxies: ProxyRules(http: proxy)))
      let page = try await transport.send(Request(.get, "http://roster.test/api/character?page=3"))
      #expect(page.text.hasSuffix("[\(record(41, version: 0))]}"))
      await transport.shutdown()
    }
  }
}
