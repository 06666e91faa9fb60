import RosterCore
import Testing

@testable import RosterCache

/// Definitions that request another list.
struct AnotherListTests {
  let folder = Folder()
  private let people = someRanked

  @Test("11: another definition of the same list keeps the count of absences, one of another list does not")
  func absent() async throws {
    let first = changed { $0.removal = .twice }
    let cache = try await folder.mirrored(first, pages: [people])
    _ = try await cache.mirror(first, pages: [Array(people[..<2])])
    #expect(try await cache.absent() == ["character": 1])
    await cache.close()
    let second = changed {
      $0.removal = .twice
      $0.columns.removeAll { $0.name == "gender" }
    }
    let next = try await folder.define([second])
    #expect(try await next.absent() == ["character": 1])
    #expect(try await next.mirror(second, pages: [Array(people[..<2])]).removed == 1)
    try await folder.expectSound([second], closing: next)
  }

  @Test(
    "11: the first pull by another path, key, records or where removes missing records, except with never",
    arguments: [Resource.Removal.ask, .twice, .never])
  func anotherList(removal: Resource.Removal) async throws {
    let first = changed { $0.removal = removal }
    await (try folder.mirrored(first, pages: paired(people))).close()
    let second = changed {
      $0.removal = removal
      $0.conditions = [.init(at("rank"), .present)]
    }
    let next = try await folder.define([second])
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["3"])
    let record = try await next.begin(at: noon)
    try await Pull(cache: next).pages(second, pages: paired(people))
    let found = try #require(try await next.compare().first)
    #expect(found.listChanged && found.missing == 2 && found.skipped == 2)
    // A sync that may not remove records leaves this to the next one.
    #expect(
      try await next.publish(
        record, decisions: ["character": RemovalDecision(.keepsAll)], at: noon, history: ninetyDays
      )
      .removed
        == 0)
    await next.close()
    let last = try await folder.define([second])
    #expect(try await last.mirror(second, pages: [nil, nil]).removed == (removal == .never ? 0 : 2))
    _ = try await last.begin(at: noon)
    try await Pull(cache: last).pages(second, pages: [nil, nil])
    #expect(try await last.compare().first?.listChanged == false)
    try await folder.expectSound([second], closing: last)
  }

  @Test("11: a definition that was changed and restored before a sync has the same list")
  func putBack() async throws {
    await (try folder.mirrored(paired(people))).close()
    await (try folder.define([changed { $0.path = "/other" }])).close()
    let next = try await folder.define()
    _ = try await next.begin(at: noon)
    try await Pull(cache: next).pages(.character, pages: [people])
    #expect(try await next.compare().first?.listChanged == false)
    await next.close()
  }
}
