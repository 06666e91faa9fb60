import FoundationEssentials
import GrowthKinds
import RosterCore
import Testing

@testable import RosterCache

@Suite("Rows that a copy to another database reads")
struct SnapshotExportTests {
  @Test("58: tables have the types of the definition and their keys", arguments: [false, true])
  func tables(isText: Bool) async throws {
    let (folder, _) = try await mirrored(isText)
    try CacheReader(path: folder.cache).export { snapshot in
      let names = snapshot.tables.map(\.name)
      #expect(
        names.prefix(7) == [
          "resources", "cache_info", "resource_lists", "syncs", "sync_resources", "changes", "rejects",
        ])
      #expect(snapshot.tables.allSatisfy { !$0.primaryKey.isEmpty })
      #expect(snapshot.tables.first { $0.name == "rejects" }?.columns.contains { $0.name == "document" } == false)
      let records = try #require(snapshot.tables.first { $0.role == .records(resource: "thing") })
      #expect(records.primaryKey == [isText ? "record_id" : "id"])
      #expect(records.unique == (isText ? [["code"]] : []))
      #expect(records.columns.last == .init(name: "changed_sync", type: .bigint, isRequired: true))
    }
  }

  @Test("58: after a position, only rows of records that changed since then are read")
  func changed() async throws {
    let (folder, count) = try await mirrored(false)
    try CacheReader(path: folder.cache).export { snapshot in
      let records = try #require(snapshot.tables.first { $0.role == .records(resource: "thing") })
      #expect(try rows(snapshot, table: records, scope: .all) == count)
      #expect(try snapshot.changedResources(after: 0) == ["thing"])
      let last = snapshot.position.change
      #expect(try rows(snapshot, table: records, scope: .changed(after: last - 1)) == 1)
      #expect(try rows(snapshot, table: records, scope: .changed(after: last)) == 0)
      #expect(try snapshot.changedResources(after: last).isEmpty)
    }
  }

  @Test(
    "58: syncs that history keeps are known beside the first one that precedes no gap, whatever they published",
    arguments: [
      ("id IN ()", KeptRows(first: 1)), ("id = 2", KeptRows(first: 3, others: [1])), ("id < 4", KeptRows(first: 4)),
      ("id IN (3, 5)", KeptRows(first: 6, others: [1, 2, 4])), ("true", KeptRows(first: nil)),
    ])
  func keptSyncs(expired: String, kept: KeptRows) async throws {
    let folder = Folder()
    let cache = try await folder.define()
    for second in 0..<8 { _ = try await cache.mirror(paired(people(1...2)), at: noon + Double(second)) }
    await cache.close()
    _ = try Database(path: folder.cache, access: .writer).run("DELETE FROM syncs WHERE \(expired)")
    #expect(try CacheReader(path: folder.cache).export { try $0.keptSyncs() } == kept)
  }

  @Test("The lag is the age of the oldest publication after a position")
  func oldestPublication() async throws {
    let folder = Folder()
    let cache = try await folder.define()
    for (seconds, mark) in [(0, ""), (60, ""), (120, "!"), (126, "?")] {
      _ = try await cache.mirror(paired(people(1...2, mark: mark)), at: noon + Double(seconds))
    }
    await cache.close()
    try CacheReader(path: folder.cache).export { snapshot in
      // The second sync published nothing.
      let times = try (0...4).map { try snapshot.oldestPublication(after: $0) }
      #expect(times == [0, 120, 120, 126].map { (noon + $0).rfc3339 } + [nil])
      #expect(times[3] == snapshot.publishedAt)
    }
  }

  private func rows(_ snapshot: SnapshotExport, table: ReplicaTable, scope: SnapshotExport.Scope) throws -> Int {
    var count = 0
    try snapshot.rows(of: table, scope) { row in
      #expect(row.count == table.columns.count)
      count += 1
    }
    return count
  }

  /// A cache after a first sync and one in which every record changed.
  private func mirrored(_ isText: Bool) async throws -> (folder: Folder, records: Int) {
    let folder = Folder()
    let resource = GrowthKind.changed.resource(isText: isText, isAfter: false)
    let cache = try await folder.mirrored(resource, pages: GrowthKind.changed.before(60).pages)
    _ = try await cache.mirror(resource, pages: GrowthKind.changed.after(60).pages, present: [], kind: .changed)
    await cache.close()
    return (folder, 60)
  }
}
