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
    let many = try #require(requests("/c/{keys}")).requests(for: ["a", "b,c", "d"])
    #expect(many.map(\.request.url) == ["http://up/api/c/a,d", "http://up/api/c/b%2Cc"])
  }

  @Test("P8: a definition without by_key cannot ask")
  func none() { #expect(requests(nil) == nil) }
}
