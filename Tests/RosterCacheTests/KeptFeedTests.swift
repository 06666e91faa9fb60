import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

/// Keys of a definition that may change without another feed.
struct KeptFeedTests {
  let folder = Folder()

  @Test("56: another by_key_records or pages.value is stored at the start, another done or shape by the next sync")
  func keptFeed() async throws {
    var resource = Resource.character
    func waiting() async throws -> [String] {
      let cache = try await folder.define([resource])
      let waiting = try await cache.facts().waiting
      _ = try await cache.mirror(resource, pages: [people(1...2), people(3...4)])
      await cache.close()
      return waiting
    }
    #expect(try await waiting().isEmpty)
    resource.byKeyRecords = at("data")
    resource.pages.value = .init("p{page}", placeholder: "{page}")
    #expect(try await waiting().isEmpty)
    #expect(
      try folder.ask("SELECT (definition ->> '$.by_key_records') || (definition ->> '$.pages.value') FROM resources")
        == ["/datap{page}"])
    resource.pages.done = .body(at("done"))
    #expect(try await waiting() == ["character"])
    resource.shape = .values
    #expect(try await waiting() == ["character"])
  }

  @Test("56: another audit_every keeps the feed, the pages and the kept pages, and is in resources.definition later")
  func auditEvery() async throws {
    var resource = Resource.character
    let cache = try await folder.define([resource])
    _ = try await cache.mirror([people(1...2), people(3...4)])
    let record = try await cache.begin(at: noon)
    try await cache.append([Pull(cache: cache).received(resource, 1, people(1...2, mark: "!"))])
    try await cache.end(record, at: noon, history: ninetyDays)
    await cache.close()
    let feed = try folder.ask("SELECT feed FROM cache_info")
    resource.auditEvery = nil
    let next = try await folder.define([resource])
    _ = try await next.begin(at: noon)
    let known = try await next.known("character", addresses: [address(1), address(2)])
    #expect(known[address(1)]?.state == .kept && known[address(2)]?.state == .published)
    await next.close()
    await (try folder.mirrored(resource, pages: [people(1...2, mark: "!"), people(3...4)])).close()
    #expect(try folder.ask("SELECT feed FROM cache_info") == feed)
    #expect(try folder.ask("SELECT definition ->> '$.audit_every' FROM resources") == ["never"])
  }
}
