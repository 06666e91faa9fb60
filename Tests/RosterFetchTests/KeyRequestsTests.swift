import RosterFetch
import RosterModel
import Testing

private func requests(_ byKey: String?) -> KeyRequests? {
  var resource = Resource.character
  resource.byKey = byKey
  return KeyRequests(resource, baseURL: "http://up/api")
}

@Suite struct KeyRequestsTests {
  @Test("P8: fifty keys at most go into one request, a single one is asked for alone")
  func many() throws {
    let made = try #require(requests("/character/{keys}")).requests(for: (1...101).map(String.init))
    #expect(made.map(\.keys.count) == [50, 50, 1])
    #expect(made.last?.request.url == "http://up/api/character/101")
    #expect(made.last?.isSingle == true)
    #expect(made.first?.request.url.hasPrefix("http://up/api/character/1,2,3") == true)
  }

  @Test("P8: with {key} each is asked for alone; keys are encoded as one segment, one with a comma goes alone")
  func encoded() throws {
    let one = try #require(requests("/c/{key}/x")).requests(for: ["a/b", "é?"])
    #expect(one.map(\.request.url) == ["http://up/api/c/a%2Fb/x", "http://up/api/c/%C3%A9%3F/x"])
    let many = try #require(requests("/c/{keys}")).requests(for: ["a", "b,c", "d", ",\u{301}"])
    #expect(
      many.map(\.request.url) == ["http://up/api/c/a,d", "http://up/api/c/b%2Cc", "http://up/api/c/%2C%CC%81"])
  }

  @Test(
    "P8: a key of dots that is a whole segment of a path cannot be asked for; beside others, or in a query, it can"
  )
  func dots() throws {
    func asked(_ path: String, _ keys: [String]) throws -> [Bool] {
      try #require(requests(path)).requests(for: keys).map(\.canBeAsked)
    }
    #expect(try asked("/one/{key}", ["a", ".", "..", "...", "."]) == [true, false, false, true, false])
    #expect(try asked("/one/{key}/x?full=1", [".."]) == [false])
    for path in ["/one?id={key}", "/one/x{key}", "/one/({key})", "/one?path=/{key}/x"] {
      #expect(try asked(path, [".", ".."]) == [true, true])
    }
    #expect(try asked("/one/{keys}", ["."]) == [false])
    #expect(try asked("/one/{keys}", [".", "..", "a,b"]) == [true, true])
  }

  @Test("P8: what cannot be asked for fails without a request, and so removes nothing")
  func unaskable() async throws {
    var resource = Resource.character
    resource.byKey = "/character/{key}"
    try await RawServer.run(headed("404 No")) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)", resource: resource) { bench in
        let failure = await bench.failure { _ = try await bench.fetch(keys: [".."]) }
        #expect(failure?.kind == .badAnswer && failure?.cause.hasPrefix("a key of dots means a folder") == true)
        #expect(failure?.concerned.last == .record("..", of: "character"))
        #expect(server.requests == 0)
      }
    }
  }

  @Test(
    "S11.3: a failed question by key names the key apart from its sentence and its address",
    arguments: [("404 No", #"{"id": 6}"#), ("200 OK", #"{"id": 6}"#), ("500 No", ""), ("200 OK", "[]")])
  func keyless(status: String, body: String) async throws {
    var resource = Resource.character
    resource.byKey = "/character/{key}"
    try await RawServer.run(headed(status == "404 No" ? "400 No" : status, body: Array(body.utf8))) { server in
      let base = "http://127.0.0.1:\(server.port)"
      try await withBench(at: base, resource: resource) { bench in
        let failure = try #require(await bench.failure { _ = try await bench.fetch(keys: ["4711"]) })
        #expect(!"\(failure)".contains("4711") && failure.subject == "\(base)/character/{key}")
        #expect(failure.concerned.contains(.address("\(base)/character/4711", keyless: "\(base)/character/{key}")))
        #expect(failure.concerned.last == .record("4711", of: "character"))
        let shown = failure.concerned.compactMap(\.withoutKeys)
        #expect(shown == [.address("\(base)/character/{key}"), .resource("character")])
      }
    }
  }

  @Test("P8: a definition without by_key cannot ask")
  func none() { #expect(requests(nil) == nil) }
}
