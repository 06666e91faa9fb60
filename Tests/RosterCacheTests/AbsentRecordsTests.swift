import RosterCore
import RosterDecode
import Testing

@testable import RosterCache

/// Records that a whole pull misses and that stay: in `pending`, and in `list --absent`.
struct AbsentRecordsTests {
  let folder = Folder()

  private func resource(_ removal: Resource.Removal) -> Resource {
    var resource = Resource.character
    (resource.removal, resource.byKey) = (removal, nil)
    return resource
  }

  private func pending(_ cache: Cache, resource: Resource, pages: [[String]]) async throws -> JSONValue {
    let record = try await cache.pull(resource, pages: pages)
    _ = try await cache.tried(record, decisions: [:], at: noon, history: ninetyDays)
    var text = ""
    try CacheReader(path: folder.cache).pending().writeJSON { text += $0 }
    return try JSONValue(json: text.utf8)
  }

  private func absent() throws -> [String?] {
    let listing = try CacheReader(path: folder.cache).list("character", isAbsent: true)
    #expect(listing.total == listing.records.count)
    return listing.records.map { $0.split(separator: ",").first.map(String.init) }
  }

  @Test("51: pending reports a record that the pull misses for the first time as absent; missed again, it is removed")
  func twice() async throws {
    let twice = resource(.twice)
    let cache = try await folder.mirrored(twice, pages: [people(1...5)])
    let first = try await pending(cache, resource: twice, pages: [people(1...3)])["resources"]?.elements.first
    #expect(first?["absent"] == .list([.integer(4), .integer(5)]) && first?["removed"] == .list([]))
    #expect(try absent().isEmpty)
    _ = try await cache.mirror(twice, pages: [people(1...3)])
    #expect(try absent() == [#"{"id":4"#, #"{"id":5"#])
    let second = try await pending(cache, resource: twice, pages: [people(1...2) + people(5...5)])["resources"]?
      .elements.first
    #expect(second?["absent"] == .list([.integer(3)]))
    #expect(second?["removed"]?.elements.map { $0["key"] } == [.integer(4)])
    await cache.close()
  }

  @Test("51: with `never` a record is absent for the first time once, and stays listed; with `ask` none is")
  func others() async throws {
    for (removal, found) in [(Resource.Removal.never, [JSONValue.integer(2)]), (.ask, [])] {
      let folder = Folder()
      var resource = resource(removal)
      if removal == .ask { resource.byKey = Resource.character.byKey }
      let cache = try await folder.define([resource])
      _ = try await cache.mirror(resource, pages: [people(1...2)])
      let record = try await cache.pull(resource, pages: [people(1...1)])
      _ = try await cache.tried(record, decisions: [:], at: noon, history: ninetyDays)
      var text = ""
      try CacheReader(path: folder.cache).pending().writeJSON { text += $0 }
      #expect(try JSONValue(json: text.utf8)["resources"]?.elements.first?["absent"] == .list(found))
      await cache.close()
    }
  }

  @Test("51: the absent records are those of one resource, 20 a page")
  func pages() async throws {
    let twice = resource(.twice)
    let cache = try await folder.mirrored(twice, pages: [people(1...45)])
    _ = try await cache.mirror(twice, pages: [people(1...15)])
    let reader = try CacheReader(path: folder.cache)
    let second = try reader.list("character", isAbsent: true, page: 2)
    #expect(second.total == 30 && second.pages == 2 && second.records.count == 10)
    #expect(second.records.first?.hasPrefix(#"{"id":36,"#) == true)
    await cache.close()
  }
}

extension JSONValue {
  fileprivate var elements: [JSONValue] { if case .list(let elements) = self { elements } else { [] } }
}
