import RosterCore
import RosterFetch
import Testing

private func requests(_ byKey: String?) -> KeyRequests? {
  var resource = Resource.character
  resource.byKey = byKey
  return KeyRequests(resource, baseURL: "http://up/api")
}

@Suite struct KeyRequestsTests {
  @Test("11: a request has at most fifty keys, and a single key is asked for alone")
  func many() throws {
    let made = try #require(requests("/character/{keys}")).requests(for: (1...101).map(String.init))
    #expect(made.map(\.keys.count) == [50, 50, 1])
    #expect(made.last?.request.url == "http://up/api/character/101")
    #expect(made.last?.isSingle == true)
    #expect(made.first?.request.url.hasPrefix("http://up/api/character/1,2,3") == true)
  }

  @Test("11: with {key} each key is asked for alone; keys are one encoded segment, one with a comma goes alone")
  func encoded() throws {
    let one = try #require(requests("/c/{key}/x")).requests(for: ["a/b", "é?"])
    #expect(one.map(\.request.url) == ["http://up/api/c/a%2Fb/x", "http://up/api/c/%C3%A9%3F/x"])
    let many = try #require(requests("/c/{keys}")).requests(for: ["a", "b,c", "d", ",\u{301}"])
    #expect(many.map(\.request.url) == ["http://up/api/c/a,d", "http://up/api/c/b%2Cc", "http://up/api/c/%2C%CC%81"])
  }

  @Test(
    "11, 13: a key of dots that is a whole path segment cannot be asked for; beside others or in a query it can"
  )
  func dots() throws {
    func asked(_ path: String, keys: [String]) throws -> [Bool] {
      try #require(requests(path)).requests(for: keys).map(\.canBeAsked)
    }
    #expect(try asked("/one/{key}", keys: ["a", ".", "..", "...", "."]) == [true, false, false, true, false])
    #expect(try asked("/one/{key}/x?full=1", keys: [".."]) == [false])
    for path in ["/one?id={key}", "/one/x{key}", "/one/({key})", "/one?path=/{key}/x"] {
      #expect(try asked(path, keys: [".", ".."]) == [true, true])
    }
    #expect(try asked("/one/{keys}", keys: ["."]) == [false])
    #expect(try asked("/one/{keys}", keys: [".", "..", "a,b"]) == [true, true])
  }

  @Test("52: by_key names every part of a composite key by its column")
  func composite() throws {
    var resource = Resource(
      name: "thing", path: "/", key: JSONPointer(segments: ["b"]), otherKeys: [JSONPointer(segments: ["n"])],
      columns: [.init("n", at: JSONPointer(segments: ["n"]), .integer), .init("b", at: JSONPointer(segments: ["b"]))])
    resource.byKey = "/buckets/{key.b}/x?n={key.n}&again={key.b}"
    let made = try #require(KeyRequests(resource, baseURL: "http://up"))
    let asked = made.requests(for: [#"["a/é",-7]"#, #"["{key.n}",1]"#])
    #expect(
      asked.map(\.request.url) == [
        "http://up/buckets/a%2F%C3%A9/x?n=-7&again=a%2F%C3%A9", "http://up/buckets/%7Bkey.n%7D/x?n=1&again=%7Bkey.n%7D",
      ])
    #expect(asked.map(\.keys) == [[#"["a/é",-7]"#], [#"["{key.n}",1]"#]])
    #expect(made.requests(for: [#"["..",1]"#, #"["...",1]"#]).map(\.canBeAsked) == [false, true])
    #expect(made.control(for: [#"["..",1]"#, #"["a",2]"#], several: false)?.keys == [#"["a",2]"#])
  }

  @Test("13: a key that cannot be asked for fails without a request, and so removes nothing")
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
    "38: a failed question by key names the key apart from its sentence and its address",
    arguments: [("404 No", #"{"id": 6}"#), ("200 OK", #"{"error": 6}"#), ("500 No", ""), ("200 OK", "[]")])
  func keyless(status: String, body: String) async throws {
    var resource = Resource.character
    resource.byKey = "/character/{key}"
    try await RawServer.run(headed(status == "404 No" ? "400 No" : status, body: Array(body.utf8))) { server in
      let base = "http://127.0.0.1:\(server.port)"
      try await withBench(at: base, resource: resource) { bench in
        let failure = try #require(await bench.failure { _ = try await bench.fetch(keys: ["4711"]) })
        #expect(!"\(failure)".contains("4711") && failure.subject == "\(base)/character/{key}")
        #expect(failure.concerned.contains(.address("\(base)/character/4711")))
        #expect(failure.concerned.last == .record("4711", of: "character"))
      }
    }
  }

  @Test("11: a definition without by_key asks for no key")
  func none() { #expect(requests(nil) == nil) }
}
