import FoundationEssentials
import RosterModel
import Testing

@testable import RosterCache

/// T9.5: no key of the definitions is in the cache.
struct StoredSecretsTests {
  let folder = Folder()

  private static func keyed(_ key: String) -> Resource {
    changed {
      $0.query = [.init("api_key", .text(key)), .init("state", .text("all"))]
      $0.byKey = "/character/{key}?token=\(key)&full=1"
    }
  }

  private func definition() throws -> String { try folder.ask("SELECT definition FROM resources")[0] }

  private func feed() throws -> String { try folder.ask("SELECT feed FROM cache_info")[0] }

  /// The files that have the text.
  private func files(with text: String) throws -> [String] {
    try folder.names().filter { try folder.bytes($0).firstRange(of: Data(text.utf8)) != nil }
  }

  @Test("T9.5: the stored definition has *** in the place of each key, and a rotated key is no other feed")
  func rotated() async throws {
    let first = Self.keyed("sesame-one")
    await (try folder.mirrored(first, pages: [someRanked])).close()
    let (stored, number) = (try definition(), try feed())
    #expect(stored.contains(#""query":{"api_key":"***","state":"all"}"#) && stored.contains("?token=***&full=1"))
    #expect(try files(with: "sesame").isEmpty)
    let second = Self.keyed("sesame-two")
    let cache = try await folder.define([second])
    #expect(try definition() == stored && feed() == number)
    #expect(try await cache.mirror(second, pages: [someRanked]).changed == 0)
    try await folder.expectSound([second], closing: cache)
    // Two keys may be two accounts, whose lists are pulled apart (P12).
    #expect(first.pulledList != second.pulledList)
  }

  @Test("T9.5: a key in a stored definition is overwritten at the first start, also without its resource")
  func rewritten() async throws {
    let resource = Self.keyed("sesame-one")
    await (try folder.mirrored(resource, pages: [someRanked])).close()
    let number = try feed()
    let writer = try Database(path: folder.cache, access: .writer)
    for key in ["sesame-one", "sesame-zero"] {
      let clear = try definition().replacing("\"***\"", with: "\"\(key)\"").replacing("token=***", with: "token=\(key)")
      try writer.run("UPDATE main.resources SET definition = ?", .text(clear))
    }
    _ = try writer.checkpoint(.truncate)
    writer.close()
    #expect(try !files(with: "sesame-one").isEmpty)
    // The resource is in the cache until a sync has published its removal.
    let other = changed { $0.table = "people" }
    let cache = try await folder.define([
      Resource(name: "person", path: "/person", key: other.key, table: "people", columns: other.columns)
    ])
    #expect(try definition().contains(#""api_key":"***""#) && feed() == number)
    await cache.close()
    #expect(try files(with: "sesame").isEmpty)
  }

  @Test("R5.5: a column of a parent in a parameter with a credential's name stays in the stored definition")
  func placeholders() throws {
    let resource = changed {
      $0.query = [
        .init("token", .text("{issue.token}")), .init("key", .text("v1 {issue.id}")), .init("sig", .integer(7)),
      ]
    }
    let query = #""query":{"token":"{issue.token}","key":"***{issue.id}","sig":"***"}"#
    #expect(resource.definition.contains(query))
  }
}
