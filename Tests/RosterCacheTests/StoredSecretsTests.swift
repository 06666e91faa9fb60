import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

/// No key of the definitions is in the cache.
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

  @Test("38: the stored definition has *** in the place of each key, and a rotated key is no other feed")
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
    // Two keys may be two accounts, whose lists are pulled apart.
    #expect(first.pulledList != second.pulledList)
  }

  @Test("52: a column of a parent in a parameter with a credential's name stays in the stored definition")
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
