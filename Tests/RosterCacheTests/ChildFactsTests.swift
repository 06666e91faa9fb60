import FoundationEssentials
import RosterCore
import Testing

@testable import RosterCache

/// The facts of children with many lists.
@Suite struct ChildFactsTests {
  private static let resources = [
    Resource(
      name: "doc", path: "/docs", table: "docs", pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer)]),
    Resource(
      name: "item", path: "/docs/{doc.id}/items", table: "items", pages: .init(.one),
      columns: [.init("id", at: at("id"), .integer)], each: Each(of: "doc", changed: ["id"])),
  ]

  /// A cache with that many lists, of which each hundredth has failed, and each hundredth has vanished.
  private static func filled(_ folder: Folder, lists: Int) async throws {
    let cache = try await folder.define(resources)
    try await cache.perform("fill") { database in
      try database.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(lists))
          INSERT INTO docs SELECT i, NULL, 1, 1 FROM n;
        INSERT INTO cache_lists(resource_id, parent_id, whole_at, asked, records, proof, due_at, state, error)
          SELECT c.id, d.id, '2026-01-01T00:00:00.000Z', '[1]', 1, 'end', d.id,
            CASE d.id % 100 WHEN 0 THEN 'failed' WHEN 1 THEN 'vanished' ELSE 'current' END, 'upstream answered 403'
          FROM docs d JOIN cache_resources c ON c.name = 'item';
        """)
    }
    await cache.close()
  }

  @Test("48: the lists of a child are counted by indexes alone, without a look at each list")
  func plans() async throws {
    let folder = Folder()
    try await Self.filled(folder, lists: 300)
    let reader = try CacheReader(path: folder.cache)
    let plans = QueryPlans()
    try await plans.inspect {
      let facts = try reader.facts()
      let item = try #require(facts.resources.first { $0.name == "item" })
      #expect(item.lists.map { [$0.total, $0.failed, $0.vanished] } == [300, 3, 3])
      #expect(item.wholeAt == "2026-01-01T00:00:00.000Z")
      #expect(facts.failedLists.map(\.keys) == ["100", "200", "300", "1", "101", "201"])
    }
    let faults = plans.all.flatMap(\.faults)
    #expect(faults.isEmpty, "\(faults.joined(separator: "\n\n"))")
    let database = try Database(path: folder.cache, access: .readOnly)
    defer { database.close() }
    let steps = try plans.all.flatMap { try database.once("EXPLAIN QUERY PLAN \($0.sql)").rows([]) { $0.text(3) } }
      .filter { $0.hasPrefix("SEARCH l ") }
    #expect(steps.count > 5)
    for step in steps {
      let isSmall = ["COVERING INDEX", "cache_lists_failed", "PRIMARY KEY (rowid=?)", "parent_id=?", "(rowid=?)"]
      #expect(isSmall.contains { step.contains($0) }, "\(step)")
    }
  }
}
