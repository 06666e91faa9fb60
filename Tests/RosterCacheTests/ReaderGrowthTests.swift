import FoundationEssentials
import GrowthKinds
import RosterCore
import Testing

@testable import RosterCache

/// As `GrowthTests`, for what reads or prunes a large cache.
@Suite("Cost of reading and pruning a large cache")
struct ReaderGrowthTests {
  private static let day = 86_400.0

  private func expectGrowth(_ limit: Double, steps: (Int) async throws -> Int) async throws {
    let (few, many) = (try await steps(500), try await steps(2_000))
    #expect(few > 0)
    #expect(Double(many) / Double(few) < limit, "\(few) steps, and \(many) for 4 times as much")
  }

  /// A cache with that many records, changes, and syncs with a row in `sync_resources`.
  private func filled(_ folder: Folder, count: Int, isText: Bool = false) async throws -> Cache {
    let resource = GrowthKind.changed.resource(isText: isText, isAfter: false)
    let cache = try await folder.mirrored(resource, pages: GrowthKind.changed.before(count).pages)
    let old = noon.addingTimeInterval(-Self.day * 2).rfc3339
    try await cache.perform("fill") { database in
      let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) "
      try database.execute(
        """
        UPDATE syncs SET id = \(count + 1), started_at = '\(old)';
        \(numbers) INSERT INTO syncs SELECT i, '\(old)', '\(old)', 'unchanged', 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 9, 0,
          NULL, 0, 0, NULL FROM n;
        DELETE FROM sync_resources;
        \(numbers) INSERT INTO sync_resources SELECT i, 'thing', 1, 1, 0, 0, 0, 0, 0, 1, 1, NULL, 1, 0 FROM n;
        \(numbers) INSERT INTO changes(sync_id, resource, record_id, kind, at, before, after)
          SELECT i, CASE i % 50 WHEN 0 THEN 'other' ELSE 'thing' END, i, 'changed', '\(old)', '{}', '{}' FROM n
        """)
    }
    return cache
  }

  private func pruningSteps(_ count: Int, history: Duration) async throws -> (steps: Int, folder: Folder) {
    let folder = Folder()
    let cache = try await filled(folder, count: count)
    var record = try await cache.begin(at: noon)
    (record.outcome, record.finishedAt) = (.failed, noon.rfc3339)
    let steps = Steps()
    await cache.count(steps)
    try await cache.end(record, at: noon, history: history)
    await cache.close()
    return (steps.count, folder)
  }

  @Test("9: the cost of pruning depends on the pruned changes only")
  func pruning() async throws {
    try await expectGrowth(6) { count in
      let (steps, folder) = try await pruningSteps(count, history: .seconds(Self.day))
      #expect(try folder.ask("SELECT count(*) FROM changes") == ["1"])
      #expect(try folder.ask("SELECT count(*) FROM syncs WHERE outcome = 'unchanged'") == ["1"])
      #expect(try folder.ask("SELECT sync_id FROM sync_resources") == ["\(count)"])
      return steps
    }
  }

  @Test("9: a sync that prunes nothing does not read the syncs and changes of cache.history")
  func nothingToPrune() async throws {
    try await expectGrowth(1.5) { count in
      let (steps, folder) = try await pruningSteps(count, history: ninetyDays)
      #expect(try folder.ask("SELECT count(*) FROM sync_resources") == ["\(count)"])
      return steps
    }
  }

  private func readingSteps(_ count: Int, read: (CacheReader) throws -> Void) async throws -> Int {
    let folder = Folder()
    let cache = try await filled(folder, count: count)
    await cache.close()
    let reader = try CacheReader(path: folder.cache)
    let steps = Steps()
    reader.database.tick(every: Int32(Steps.grain)) { steps.tick() }
    try read(reader)
    return steps.count
  }

  @Test("The first page of `rosterctl list` costs the same for any number of records")
  func firstPage() async throws {
    try await expectGrowth(1.5) { count in
      try await readingSteps(count) { reader in
        let page = try reader.list("thing")
        #expect(page.total == count && page.records.count == 20)
      }
    }
  }

  @Test("The cost of a search depends on its results only")
  func search() async throws {
    try await expectGrowth(6) { count in
      try await readingSteps(count) { reader in
        let total = try reader.list("thing", search: "name").total
        #expect(total == count)
      }
    }
  }

  @Test("The cost of following depends on the number of changes only, for one resource too", arguments: [nil, "other"])
  func feed(resource: String?) async throws {
    try await expectGrowth(6) { count in
      try await readingSteps(count) { reader in
        var position = FeedPosition()
        var found = 0
        while case .page(let page) = try reader.feed(position, resource: resource, limit: 10) {
          found += page.changes.count
          position = FeedPosition(feed: page.feed, seen: page.last)
          if page.isWhole { break }
        }
        #expect(found == (resource == nil ? count : count / 50))
      }
    }
  }

  @Test("`rosterctl pending` costs as much as was pulled", arguments: GrowthKind.allCases, [false, true])
  func pending(kind: GrowthKind, isText: Bool) async throws {
    func steps(_ count: Int) async throws -> Int {
      let folder = Folder()
      let resource = kind.resource(isText: isText, isAfter: false)
      let cache = try await folder.define([resource])
      if kind != .first { _ = try await cache.mirror(resource, pages: kind.before(count).pages) }
      _ = try await cache.mirror(resource, pages: kind.after(count).pages, present: kind.present(count), kind: .dryRun)
      let reader = try CacheReader(path: folder.cache)
      let steps = Steps()
      reader.database.tick(every: Int32(Steps.grain)) { steps.tick() }
      try reader.pending().writeJSON { _ in }
      await cache.close()
      return steps.count
    }
    let (few, many) = (try await steps(100), try await steps(400))
    #expect(few > 0 && Double(many) / Double(few) < 6, "\(few) steps, and \(many) for 4 times as much")
  }
}
