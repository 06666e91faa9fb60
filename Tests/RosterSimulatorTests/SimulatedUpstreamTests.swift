import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

@Suite struct SimulatedUpstreamTests {
  @Test("A current ETag gets 304 without a body, until the page changes")
  func etag() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      let etag = try #require(try await simulator.page(3)["ETag"])
      let condition = [Request.Header("If-None-Match", etag)]
      let again = try await simulator.page(3, headers: condition)
      #expect(again.status == 304 && again.body.isEmpty && again["ETag"] == etag)
      simulator.update { characters in characters[50].name = "Renamed" }
      #expect(try await simulator.page(3, headers: condition).status == 200)
      #expect(simulator.counts.requests(ofPage: 3).map { $0["If-None-Match"] } == [nil, etag, etag])
      #expect(simulator.counts.pages(answered: 304) == 1)
    }
  }

  @Test("Last-Modified replaces the ETag, and there may be no validator at all")
  func otherValidators() async throws {
    let clock = ManualClock(now: Date(timeIntervalSince1970: 1_795_234_506))
    var scenario = Scenario()
    scenario.validators = .lastModified(age: .seconds(3600))
    try await withSimulator(scenario, clock: clock) { (simulator: Simulator) async throws in
      let first = try await simulator.page(1)
      #expect(first["Date"] == "Sat, 21 Nov 2026 04:15:06 GMT")
      #expect(first["Last-Modified"] == "Sat, 21 Nov 2026 03:15:06 GMT" && first["ETag"] == nil)
      let condition = [Request.Header("If-Modified-Since", first["Last-Modified"] ?? "")]
      #expect(try await simulator.page(1, headers: condition).status == 304)
      simulator.configure { $0.validators = .none }
      #expect(try await simulator.page(1)["Last-Modified"] == nil)
    }
  }

  @Test("Faults apply to a page, or to the n-th request, as often as configured")
  func statusFaults() async throws {
    let rules: [Rule] = [
      .on(.page(2), times: 2, .status(503, retryAfter: "7")), .on(.request(4), .html()),
      .on(.page(9), .redirect(to: "/api/character?page=10")), .on(.page(42), .vanished),
    ]
    try await withSimulator(Scenario(rules: rules)) { (simulator: Simulator) async throws in
      let refused = try await simulator.page(2)
      #expect(refused.status == 503 && refused["Retry-After"] == "7")
      #expect(try await simulator.page(2).status == 503)
      #expect(try await simulator.page(2).status == 200)
      let html = try await simulator.page(2)
      #expect(html.text.hasPrefix("<!doctype html>") && html["Content-Type"]?.hasPrefix("text/html") == true)
      let redirect = try await simulator.page(9)
      #expect(redirect.status == 302 && redirect["Location"] == "/api/character?page=10")
      #expect(try await simulator.page(42).status == 404)
    }
  }

  @Test(
    "An interrupted answer is an error to the client, and counted once",
    arguments: [
      Fault.drop, .cut(after: .nothing, .reset), .cut(after: .head, .reset), .cut(after: .half, .reset),
      .cut(after: .nothing, .close), .cut(after: .head, .close), .cut(after: .half, .close),
    ])
  func brokenAnswers(fault: Fault) async throws {
    try await withSimulator(Scenario(rules: [.on(.page(1), times: 1, fault)])) {
      (simulator: Simulator) async throws in
      await #expect(throws: (any Error).self) { try await simulator.page(1) }
      #expect(try await simulator.page(1).status == 200)
      let counts = try await simulator.waitFor { $0.inFlight == 0 }
      #expect(counts.pageRequests.count == 2 && counts.connections == 2)
    }
  }

  @Test("Characters drift at the configured request, before it is answered")
  func drift() async throws {
    let rules: [Rule] = [.on(.request(2), .drift { $0.removeFirst() })]
    try await withSimulator(Scenario(rules: rules)) { (simulator: Simulator) async throws in
      #expect(try await simulator.page(1).json(PageJSON.self).results.last?.id == 20)
      let second = try await simulator.page(2).json(PageJSON.self)
      #expect(second.results.first?.id == 22 && second.info.count == 825)
      #expect(simulator.characters.count == 825)
    }
  }

  @Test("Pages can have a wrong count, bad records and unknown fields")
  func distortions() async throws {
    let rules: [Rule] = [
      .on(.page(2), .info(count: 900)), .on(.page(3), .records([4: #"{"id":"x"}"#])),
      .on(.page(4), .extra(#""power":1e400"#)),
    ]
    try await withSimulator(Scenario(rules: rules)) { (simulator: Simulator) async throws in
      #expect(try await simulator.page(2).json(PageJSON.self).info.count == 900)
      #expect(try await simulator.page(3).text.contains(#"},{"id":"x"},{"#))
      #expect(try await simulator.page(4).text.components(of: #","power":1e400}"#) == 20)
    }
  }
}

extension String {
  func components(of part: String) -> Int { ranges(of: part).count }
}
